//go:build linux || darwin

package terminal

import "golang.org/x/sys/unix"

// modesOf reads the settings of a terminal.
func modesOf(input, local uint64, keys []uint8) modes {
	off := uint8(disabled)
	m := modes{canonical: local&unix.ICANON != 0}
	m.signals = local&unix.ISIG != 0 && local&unix.NOFLSH == 0 && keys[unix.VINTR] == 'C'-'@'
	m.usual = keys[unix.VERASE] == 0x7f && keys[unix.VKILL] == 'U'-'@' && input&(unix.ISTRIP|unix.IGNCR|unix.PARMRK) == 0
	for key, usual := range map[int]uint8{
		unix.VINTR: 'C', unix.VQUIT: '\\', unix.VEOF: 'D', unix.VSUSP: 'Z', unix.VREPRINT: 'R', unix.VWERASE: 'W', unix.VLNEXT: 'V',
	} {
		m.usual = m.usual && (keys[key] == usual-'@' || keys[key] == off)
	}
	if m.canonical { // else a line editor is at work, which takes the ends of lines as they come
		m.usual = m.usual && keys[unix.VEOL] == off && keys[unix.VEOL2] == off && keys[unix.VEOF] == 'D'-'@' &&
			input&unix.ICRNL != 0 && input&unix.INLCR == 0
	}
	return m
}
