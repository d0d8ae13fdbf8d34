package sandbox

import (
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// job holds the processes of a job object: children are born into it and cannot
// leave. The kernel keeps its limits, and ends all of it when the last handle goes.
type job struct{ handle windows.Handle }

// newJob makes a job with limits. A detached one outlives its handle.
func newJob(l Limits, detached bool) (*job, error) {
	handle, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, err
	}
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	flags := &info.BasicLimitInformation.LimitFlags
	*flags = windows.JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION
	if !detached {
		*flags |= windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	}
	if l.Processes > 0 {
		*flags |= windows.JOB_OBJECT_LIMIT_ACTIVE_PROCESS
		info.BasicLimitInformation.ActiveProcessLimit = uint32(l.Processes)
	}
	if l.CPU > 0 {
		*flags |= windows.JOB_OBJECT_LIMIT_PROCESS_TIME
		info.BasicLimitInformation.PerProcessUserTimeLimit = int64(l.CPU / 100)
	}
	if l.Memory > 0 {
		*flags |= windows.JOB_OBJECT_LIMIT_JOB_MEMORY
		info.JobMemoryLimit = uintptr(l.Memory)
	}
	if _, err := windows.SetInformationJobObject(handle, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info))); err != nil {
		windows.CloseHandle(handle)
		return nil, err
	}
	return &job{handle}, nil
}

func (j *job) kill() error { return windows.TerminateJobObject(j.handle, killed) }

func (j *job) close() { windows.CloseHandle(j.handle) }

// accounting is JOBOBJECT_BASIC_ACCOUNTING_INFORMATION (winnt.h), which x/sys
// does not name.
type accounting struct {
	userTime, kernelTime             int64
	thisUserTime, thisKernelTime     int64
	pageFaults, processes, active, _ uint32
}

const basicAccounting = 1 // JobObjectBasicAccountingInformation

func (j *job) usage() (Usage, error) {
	var a accounting
	if err := windows.QueryInformationJobObject(j.handle, basicAccounting, uintptr(unsafe.Pointer(&a)), uint32(unsafe.Sizeof(a)), nil); err != nil {
		return Usage{}, err
	}
	return Usage{Processes: int(a.active), CPU: time.Duration(a.userTime+a.kernelTime) * 100}, nil
}

// processList is JOBOBJECT_BASIC_PROCESS_ID_LIST (winnt.h) with room for many.
type processList struct {
	assigned, listed uint32
	pids             [4096]uintptr
}

const basicProcessList = 3 // JobObjectBasicProcessIdList

// pids are the first processes of the job, as many as a list has room for.
func (j *job) pids() []int {
	var l processList
	err := windows.QueryInformationJobObject(j.handle, basicProcessList, uintptr(unsafe.Pointer(&l)), uint32(unsafe.Sizeof(l)), nil)
	if err != nil && err != windows.ERROR_MORE_DATA {
		return nil
	}
	var out []int
	for _, pid := range l.pids[:min(int(l.listed), len(l.pids))] {
		out = append(out, int(pid))
	}
	return out
}

// peak is the most memory that the job has had.
func (j *job) peak() int64 {
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	if windows.QueryInformationJobObject(j.handle, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)), nil) != nil {
		return 0
	}
	return int64(info.PeakJobMemoryUsed)
}
