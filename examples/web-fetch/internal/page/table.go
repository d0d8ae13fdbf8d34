package page

import (
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	maxCells = 20_000 // of a table: its rows times its columns
	maxSpan  = 20     // columns or rows of one cell
)

// fitTable makes a table fit to be drawn. Every row has as many columns as the longest, so
// that a few long ones could make a table of any size; such a one becomes paragraphs.
func fitTable(table *html.Node) {
	rows, columns, headed := 0, 0, false
	parts(table, func(n *html.Node) {
		switch n.DataAtom {
		case atom.Tr:
			rows++
			columns = max(columns, cells(n))
		case atom.Td:
			narrow(n)
		case atom.Th:
			narrow(n)
			headed = true
		}
	})
	switch {
	case rows*columns > maxCells, columns <= 1: // nor is one column a table
		flatten(table)
	case headed: // a table of data, not of layout
		parts(table, escapeBars)
	}
}

// parts visits what is within a table, and not within a table in it.
func parts(n *html.Node, visit func(*html.Node)) {
	for child := range n.ChildNodes() {
		if child.DataAtom != atom.Table {
			parts(child, visit)
			visit(child)
		}
	}
}

// escapeBars keeps a bar in code from ending its cell.
func escapeBars(n *html.Node) {
	if n.Type == html.TextNode && n.Parent.DataAtom == atom.Code && n.Parent.Parent.DataAtom != atom.Pre {
		n.Data = strings.ReplaceAll(n.Data, "|", `\|`)
	}
}

func flatten(table *html.Node) {
	parts(table, func(n *html.Node) {
		switch n.DataAtom {
		case atom.Tr:
			rename(n, atom.P)
		case atom.Td, atom.Th, atom.Thead, atom.Tbody, atom.Tfoot:
			rename(n, atom.Span)
		}
	})
	rename(table, atom.Div)
}

func cells(row *html.Node) int {
	n := 0
	for cell := range row.ChildNodes() {
		if cell.DataAtom == atom.Td || cell.DataAtom == atom.Th {
			n += max(1, span(attribute(cell, "colspan")))
		}
	}
	return n
}

// span is how many columns or rows a cell takes, 1 where it says nothing believable.
func span(value string) int {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > maxSpan {
		return 1
	}
	return n
}

func narrow(cell *html.Node) {
	for i, a := range cell.Attr {
		if a.Key == "colspan" || a.Key == "rowspan" {
			cell.Attr[i].Val = strconv.Itoa(span(a.Val))
		}
	}
}
