#include "textflag.h"

// Every loop has the same shape. SI is the text, AX the place, BX the end of the
// places. A step looks at the 32 (or 64) places from AX on. Where fewer are left
// the last step is moved back to end at BX: what it sees again was no hit.

// The places of 32 that have the first, second and third byte: in each of these
// the byte, in lower case where it matches both cases, is compared.
#define TRIO(offset, a, b, c) \
	VPOR offset(R8)(AX*1), Y3, a; \
	VPOR offset(R9)(AX*1), Y4, b; \
	VPOR offset(R11)(AX*1), Y5, c; \
	VPCMPEQB Y0, a, a; \
	VPCMPEQB Y1, b, b; \
	VPCMPEQB Y2, c, c; \
	VPAND a, b, a; \
	VPAND a, c, a

// func trioNext(t *trio, b []byte, from, n int) int
TEXT ·trioNext(SB), NOSPLIT, $0-56
	MOVQ t+0(FP), DI
	MOVQ b_base+8(FP), SI
	MOVQ from+32(FP), AX
	MOVQ n+40(FP), BX
	MOVQ 0(DI), R8             // At, then where the bytes are for place 0
	MOVQ 8(DI), R9
	MOVQ 16(DI), R11
	ADDQ SI, R8
	ADDQ SI, R9
	ADDQ SI, R11
	VPBROADCASTB 24(DI), Y0    // Byte
	VPBROADCASTB 25(DI), Y1
	VPBROADCASTB 26(DI), Y2
	VPBROADCASTB 27(DI), Y3    // Either
	VPBROADCASTB 28(DI), Y4
	VPBROADCASTB 29(DI), Y5
	LEAQ -64(BX), R10          // the last place of a step of 64
	CMPQ AX, R10
	JG   trio32
trio64:
	TRIO(0, Y6, Y7, Y8)
	TRIO(32, Y9, Y10, Y11)
	VPOR Y6, Y9, Y7
	VPTEST Y7, Y7
	JNZ  trioHit64
	ADDQ $64, AX
	CMPQ AX, R10
	JLE  trio64
trio32:
	LEAQ -32(BX), R10
trioRest:
	CMPQ AX, BX
	JGE  trioNone
	CMPQ AX, R10
	CMOVQGT R10, AX
	TRIO(0, Y6, Y7, Y8)
	VPMOVMSKB Y6, CX
	TESTL CX, CX
	JNZ  trioHit
	ADDQ $32, AX
	JMP  trioRest
trioHit64:
	VPMOVMSKB Y6, CX
	VPMOVMSKB Y9, DX
	SHLQ $32, DX
	ORQ  DX, CX
trioHit:
	TZCNTQ CX, CX
	ADDQ CX, AX
	MOVQ AX, ret+48(FP)
	VZEROUPPER
	RET
trioNone:
	MOVQ $-1, ret+48(FP)
	VZEROUPPER
	RET

// The tables of three bytes, by lower and by upper half: Y0 to Y5; Y6 is 15 in
// every byte, Y7 is zero.
#define LOADHALVES \
	VMOVDQU (DI), Y0; \
	VMOVDQU 32(DI), Y1; \
	VMOVDQU 64(DI), Y2; \
	VMOVDQU 96(DI), Y3; \
	VMOVDQU 128(DI), Y4; \
	VMOVDQU 160(DI), Y5; \
	MOVQ $0x0f, CX; \
	MOVQ CX, X6; \
	VPBROADCASTB X6, Y6; \
	VPXOR Y7, Y7, Y7

// The groups of the first, second and third byte of 32 places: Y8, Y9, Y10.
#define LOOKUP \
	VMOVDQU (SI)(AX*1), Y8; \
	VMOVDQU 1(SI)(AX*1), Y9; \
	VMOVDQU 2(SI)(AX*1), Y10; \
	VPSRLW $4, Y8, Y11; \
	VPSRLW $4, Y9, Y12; \
	VPSRLW $4, Y10, Y13; \
	VPAND Y6, Y8, Y8; \
	VPAND Y6, Y9, Y9; \
	VPAND Y6, Y10, Y10; \
	VPAND Y6, Y11, Y11; \
	VPAND Y6, Y12, Y12; \
	VPAND Y6, Y13, Y13; \
	VPSHUFB Y8, Y0, Y8; \
	VPSHUFB Y11, Y1, Y11; \
	VPSHUFB Y9, Y2, Y9; \
	VPSHUFB Y12, Y3, Y12; \
	VPSHUFB Y10, Y4, Y10; \
	VPSHUFB Y13, Y5, Y13; \
	VPAND Y8, Y11, Y8; \
	VPAND Y9, Y12, Y9; \
	VPAND Y10, Y13, Y10

// func teddyNext(tables *halves, b []byte, from, n int) int
TEXT ·teddyNext(SB), NOSPLIT, $0-56
	MOVQ tables+0(FP), DI
	MOVQ b_base+8(FP), SI
	MOVQ from+32(FP), AX
	MOVQ n+40(FP), BX
	LEAQ -32(BX), R10
	LOADHALVES
teddyStep:
	LOOKUP
	VPAND Y8, Y9, Y8           // groups that all three bytes have
	VPAND Y8, Y10, Y8
	VPTEST Y8, Y8
	JNZ  teddyHit
	ADDQ $32, AX
	CMPQ AX, R10
	JLE  teddyStep
	CMPQ AX, BX
	JGE  teddyNone
	MOVQ R10, AX
	JMP  teddyStep
teddyHit:
	VPCMPEQB Y7, Y8, Y9
	VPMOVMSKB Y9, CX
	NOTL CX
	TZCNTL CX, CX
	ADDQ CX, AX
	MOVQ AX, ret+48(FP)
	VZEROUPPER
	RET
teddyNone:
	MOVQ $-1, ret+48(FP)
	VZEROUPPER
	RET

// func windowNext(tables *halves, b []byte, from, n int) int
TEXT ·windowNext(SB), NOSPLIT, $0-56
	MOVQ tables+0(FP), DI
	MOVQ b_base+8(FP), SI
	MOVQ from+32(FP), AX
	MOVQ n+40(FP), BX
	LEAQ -32(BX), R10
	LOADHALVES
windowStep:
	LOOKUP
	VPMINUB Y8, Y9, Y8         // zero where one of the three is: not in its set
	VPMINUB Y8, Y10, Y8
	VPTEST Y8, Y8
	JNZ  windowHit
	ADDQ $32, AX
	CMPQ AX, R10
	JLE  windowStep
	CMPQ AX, BX
	JGE  windowNone
	MOVQ R10, AX
	JMP  windowStep
windowHit:
	VPCMPEQB Y7, Y8, Y9
	VPMOVMSKB Y9, CX
	NOTL CX
	TZCNTL CX, CX
	ADDQ CX, AX
	MOVQ AX, ret+48(FP)
	VZEROUPPER
	RET
windowNone:
	MOVQ $-1, ret+48(FP)
	VZEROUPPER
	RET

// func lastLFNext(b []byte) int
// From the end on; the last vector is moved to begin where b does.
TEXT ·lastLFNext(SB), NOSPLIT, $0-32
	MOVQ b_base+0(FP), SI
	MOVQ b_len+8(FP), AX
	MOVQ $0x0a, CX
	MOVQ CX, X0
	VPBROADCASTB X0, Y0
	MOVQ $32, R10
lfStep:
	VPCMPEQB -32(SI)(AX*1), Y0, Y1
	VPMOVMSKB Y1, CX
	TESTL CX, CX
	JNZ  lfHit
	SUBQ $32, AX
	JZ   lfNone
	CMPQ AX, R10
	CMOVQLT R10, AX
	JMP  lfStep
lfHit:
	BSRL CX, CX
	LEAQ -32(AX)(CX*1), AX
	MOVQ AX, ret+24(FP)
	VZEROUPPER
	RET
lfNone:
	MOVQ $-1, ret+24(FP)
	VZEROUPPER
	RET

// func asciiNext(b []byte) int
TEXT ·asciiNext(SB), NOSPLIT, $0-32
	MOVQ b_base+0(FP), SI
	MOVQ b_len+8(FP), BX
	XORL AX, AX
	LEAQ -32(BX), R10
asciiStep:
	VMOVDQU (SI)(AX*1), Y0
	VPMOVMSKB Y0, CX
	TESTL CX, CX
	JNZ  asciiHit
	ADDQ $32, AX
	CMPQ AX, R10
	JLE  asciiStep
	CMPQ AX, BX
	JGE  asciiNone
	MOVQ R10, AX
	JMP  asciiStep
asciiHit:
	TZCNTL CX, CX
	ADDQ CX, AX
	MOVQ AX, ret+24(FP)
	VZEROUPPER
	RET
asciiNone:
	MOVQ $-1, ret+24(FP)
	VZEROUPPER
	RET

// func traitsNext(b []byte) traits
// Y4 to Y7 gather where a NUL, an ESC, a CR and a top bit was.
TEXT ·traitsNext(SB), NOSPLIT, $0-25
	MOVQ b_base+0(FP), SI
	MOVQ b_len+8(FP), BX
	XORL AX, AX
	LEAQ -32(BX), R10
	VPXOR Y0, Y0, Y0
	MOVQ $0x1b, CX
	MOVQ CX, X1
	VPBROADCASTB X1, Y1
	MOVQ $0x0d, CX
	MOVQ CX, X2
	VPBROADCASTB X2, Y2
	VPXOR Y4, Y4, Y4
	VPXOR Y5, Y5, Y5
	VPXOR Y6, Y6, Y6
	VPXOR Y7, Y7, Y7
traitsStep:
	VMOVDQU (SI)(AX*1), Y8
	VPCMPEQB Y0, Y8, Y9
	VPCMPEQB Y1, Y8, Y10
	VPCMPEQB Y2, Y8, Y11
	VPOR Y9, Y4, Y4
	VPOR Y10, Y5, Y5
	VPOR Y11, Y6, Y6
	VPOR Y8, Y7, Y7
	ADDQ $32, AX
	CMPQ AX, R10
	JLE  traitsStep
	CMPQ AX, BX
	JGE  traitsEnd
	MOVQ R10, AX
	JMP  traitsStep
traitsEnd:
	VPMOVMSKB Y4, AX
	VPMOVMSKB Y5, BX
	VPMOVMSKB Y6, CX
	VPMOVMSKB Y7, DX
	VZEROUPPER
	NEGL AX                    // carry where not zero
	SBBL SI, SI
	ANDL $1, SI
	NEGL BX
	SBBL DI, DI
	ANDL $2, DI
	ORL  DI, SI
	NEGL CX
	SBBL DI, DI
	ANDL $4, DI
	ORL  DI, SI
	NEGL DX
	SBBL DI, DI
	ANDL $8, DI
	ORL  DI, SI
	MOVB SI, ret+24(FP)
	RET
