#include "textflag.h"

// Each step looks at 32 bytes, up to the first that does not stand for itself: a
// quotation mark or a backslash (Y0, Y1), what is not above the last control character
// (Y3), and where text is written E2 (Y2). An escape of a letter is done here as well,
// by a table of 256 letters; whatever else it meets is left to the caller.
#define CONSTANTS \
	MOVL $0x22222222, CX \
	MOVQ CX, X0 \
	VPBROADCASTD X0, Y0 \
	MOVL $0x5c5c5c5c, CX \
	MOVQ CX, X1 \
	VPBROADCASTD X1, Y1 \
	MOVL $0xe2e2e2e2, CX \
	MOVQ CX, X2 \
	VPBROADCASTD X2, Y2 \
	MOVL $0x1f1f1f1f, CX \
	MOVQ CX, X3 \
	VPBROADCASTD X3, Y3

// CX gets a bit for each byte of Y4 that stops. A byte is a control character if it is
// the smaller of itself and 1F.
#define STOPS \
	VPCMPEQB Y0, Y4, Y5 \
	VPCMPEQB Y1, Y4, Y6 \
	VPMINUB  Y3, Y4, Y7 \
	VPCMPEQB Y7, Y4, Y7 \
	VPOR     Y5, Y6, Y5 \
	VPOR     Y5, Y7, Y5

// func escapeBlocks(dst, src *byte, n int, letters *[256]byte) (read, written int)
TEXT ·escapeBlocks(SB), NOSPLIT, $0-48
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), BX
	MOVQ letters+24(FP), R8
	XORQ AX, AX
	XORQ DX, DX
	SUBQ $32, BX
	CONSTANTS
loop:
	CMPQ AX, BX
	JG   done
	VMOVDQU (SI)(AX*1), Y4
	VMOVDQU Y4, (DI)(DX*1)
	STOPS
	VPCMPEQB Y2, Y4, Y6
	VPOR     Y5, Y6, Y5
	VPMOVMSKB Y5, CX
	TESTL CX, CX
	JNZ  found
	ADDQ $32, AX
	ADDQ $32, DX
	JMP  loop
found:
	TZCNTL CX, CX
	ADDQ CX, AX
	ADDQ CX, DX
	MOVBLZX (SI)(AX*1), R9
	MOVBLZX (R8)(R9*1), R9
	TESTL R9, R9
	JZ   done
	MOVB $0x5c, (DI)(DX*1)
	MOVB R9, 1(DI)(DX*1)
	INCQ AX
	ADDQ $2, DX
	JMP  loop
done:
	VZEROUPPER
	MOVQ AX, read+32(FP)
	MOVQ DX, written+40(FP)
	RET

// func unescapeBlocks(dst, src *byte, n int, letters *[256]byte) (read, written int)
TEXT ·unescapeBlocks(SB), NOSPLIT, $0-48
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), BX
	MOVQ letters+24(FP), R8
	XORQ AX, AX
	XORQ DX, DX
	SUBQ $33, BX
	CONSTANTS
loop:
	CMPQ AX, BX
	JG   done
	VMOVDQU (SI)(AX*1), Y4
	VMOVDQU Y4, (DI)(DX*1)
	STOPS
	VPMOVMSKB Y5, CX
	TESTL CX, CX
	JNZ  found
	ADDQ $32, AX
	ADDQ $32, DX
	JMP  loop
found:
	TZCNTL CX, CX
	ADDQ CX, AX
	ADDQ CX, DX
	CMPB (SI)(AX*1), $0x5c
	JNE  done
	MOVBLZX 1(SI)(AX*1), R9
	MOVBLZX (R8)(R9*1), R9
	TESTL R9, R9
	JZ   done
	MOVB R9, (DI)(DX*1)
	ADDQ $2, AX
	INCQ DX
	JMP  loop
done:
	VZEROUPPER
	MOVQ AX, read+32(FP)
	MOVQ DX, written+40(FP)
	RET

// func validBlocks(src *byte, n int, letters *[256]byte) int
TEXT ·validBlocks(SB), NOSPLIT, $0-32
	MOVQ src+0(FP), SI
	MOVQ n+8(FP), BX
	MOVQ letters+16(FP), R8
	XORQ AX, AX
	SUBQ $33, BX
	CONSTANTS
loop:
	CMPQ AX, BX
	JG   done
	VMOVDQU (SI)(AX*1), Y4
	STOPS
	VPMOVMSKB Y5, CX
	TESTL CX, CX
	JNZ  found
	ADDQ $32, AX
	JMP  loop
found:
	TZCNTL CX, CX
	ADDQ CX, AX
	CMPB (SI)(AX*1), $0x5c
	JNE  done
	MOVBLZX 1(SI)(AX*1), R9
	CMPB (R8)(R9*1), $0
	JE   done
	ADDQ $2, AX
	JMP  loop
done:
	VZEROUPPER
	MOVQ AX, ret+24(FP)
	RET
