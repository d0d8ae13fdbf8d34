#include "textflag.h"

// func vfork(trap, flags uintptr) (pid, errno uintptr)
//
// The return address is in a register here, which the child does not share.
TEXT ·vfork(SB),NOSPLIT,$0-32
	MOVD	trap+0(FP), R8
	MOVD	flags+8(FP), R0
	MOVD	$0, R1
	MOVD	$0, R2
	MOVD	$0, R3
	MOVD	$0, R4
	MOVD	$0, R5
	SVC
	CMN	$4095, R0
	BCC	ok
	MOVD	$-1, R4
	MOVD	R4, pid+16(FP)
	NEG	R0, R0
	MOVD	R0, errno+24(FP)
	RET
ok:
	MOVD	R0, pid+16(FP)
	MOVD	ZR, errno+24(FP)
	RET
