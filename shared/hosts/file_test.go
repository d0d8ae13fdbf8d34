package hosts_test

import "os"

func writeFile(path string, text []byte) error { return os.WriteFile(path, text, 0o600) }
