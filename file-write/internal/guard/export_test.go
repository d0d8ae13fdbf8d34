package guard

// SignatureMarks are the marks of the table of signatures, in its order.
func SignatureMarks() []string {
	marks := make([]string, len(signatures))
	for i, s := range signatures {
		marks[i] = s.mark
	}
	return marks
}

// Interpreters are the programs that the table of interpreters names, with the type
// of their scripts.
func Interpreters() map[string]string {
	all := map[string]string{}
	for _, language := range interpreters {
		for _, program := range language.programs {
			all[program] = language.mime
		}
	}
	return all
}

// OtherNames are the names of types beside those of the tables.
func OtherNames() map[string]string { return otherNames }
