#include "textflag.h"

// func vfork(trap, flags uintptr) (pid, errno uintptr)
//
// The child runs on this stack first and overwrites what is below the frame of
// the caller, the return address among it: both keep that in a register.
TEXT ·vfork(SB),NOSPLIT|NOFRAME,$0-32
	MOVQ	trap+0(FP), AX
	MOVQ	flags+8(FP), DI
	MOVQ	$0, SI
	MOVQ	$0, DX
	MOVQ	$0, R10
	MOVQ	$0, R8
	MOVQ	$0, R9
	POPQ	R12
	SYSCALL
	PUSHQ	R12
	CMPQ	AX, $0xfffffffffffff001
	JLS	ok
	MOVQ	$-1, pid+16(FP)
	NEGQ	AX
	MOVQ	AX, errno+24(FP)
	RET
ok:
	MOVQ	AX, pid+16(FP)
	MOVQ	$0, errno+24(FP)
	RET
