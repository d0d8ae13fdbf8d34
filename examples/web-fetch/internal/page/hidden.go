package page

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// unread are the elements whose content no reader sees as text.
var unread = set(atom.Script, atom.Style, atom.Template, atom.Iframe, atom.Object, atom.Canvas, atom.Svg, atom.Audio, atom.Video,
	atom.Textarea, atom.Select, atom.Noembed, atom.Noframes)

// hidden says by its own attributes that an element is not shown. What a style sheet
// hides is not known here. A page that hides itself until a script shows it is no hidden
// page.
func hidden(name atom.Atom, attributes []html.Attribute) bool {
	if name == atom.Html || name == atom.Body || name == atom.Main {
		return false
	}
	shown := name != atom.Dialog
	for _, a := range attributes {
		switch a.Key {
		case "hidden":
			return true
		case "open":
			shown = true
		case "style":
			if hides(a.Val) {
				return true
			}
		}
	}
	return !shown
}

// hides says that a style lets nothing be seen.
func hides(style string) bool {
	if len(style) > 4<<10 {
		style = style[:4<<10]
	}
	for declaration := range strings.SplitSeq(strings.ToLower(style), ";") {
		name, value, _ := strings.Cut(declaration, ":")
		value, _, _ = strings.Cut(value, "!")
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(name) {
		case "display":
			if value == "none" {
				return true
			}
		case "visibility":
			if value == "hidden" || value == "collapse" {
				return true
			}
		case "opacity", "font-size":
			if slices.Contains([]string{"0", "0.0", "0%", "0px", "0pt", "0em", "0rem", ".0"}, value) {
				return true
			}
		}
	}
	return false
}
