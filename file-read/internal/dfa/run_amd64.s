#include "textflag.h"

// One byte of one stream: its class, the entry of the state and the class.
#define STEP(text, state) \
	MOVBLZX (text)(SI*1), AX; \
	MOVBLZX (DI)(AX*1), AX; \
	ADDL AX, state; \
	MOVL (BX)(state*4), state

// func runFour(class *[256]uint8, table *uint32, text *byte, s *[streams]stream, n int) int
// A stream is 24 bytes: at, end, state.
TEXT ·runFour(SB), NOSPLIT, $0-48
	MOVQ class+0(FP), DI
	MOVQ table+8(FP), BX
	MOVQ text+16(FP), AX
	MOVQ s+24(FP), DX
	MOVQ n+32(FP), CX
	MOVQ 0(DX), R8
	MOVQ 24(DX), R9
	MOVQ 48(DX), R10
	MOVQ 72(DX), R11
	ADDQ AX, R8
	ADDQ AX, R9
	ADDQ AX, R10
	ADDQ AX, R11
	MOVL 16(DX), R12
	MOVL 40(DX), R13
	MOVL 64(DX), R15
	MOVL 88(DX), DX
	XORL SI, SI
step:
	CMPQ SI, CX
	JGE  end
	STEP(R8, R12)
	STEP(R9, R13)
	STEP(R10, R15)
	STEP(R11, DX)
	INCQ SI
	MOVL R12, AX
	ORL  R13, AX
	ORL  R15, AX
	ORL  DX, AX
	TESTL $0xC0000000, AX
	JZ   step
end:
	MOVQ s+24(FP), AX
	MOVL R12, 16(AX)
	MOVL R13, 40(AX)
	MOVL R15, 64(AX)
	MOVL DX, 88(AX)
	MOVQ SI, ret+40(FP)
	RET
