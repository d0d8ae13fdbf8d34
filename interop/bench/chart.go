package main

import (
	"fmt"
	"strings"
	"text/template"
)

const chartName = "benchmarks.svg"

// The chart has a bar a goal of a table: how much of what was promised the worst of
// its measurements took. Ticks are the others. Left of the line the goal is held.
const (
	chartGoal  = 200 // pixels from the start of a bar to the line
	chartLeft  = 390
	chartRow   = 22
	chartTop   = 34
	chartMost  = 1.9 // of a goal; longer bars are cut
	chartWidth = 1020
)

type bar struct {
	Label, Value       string
	Y, Length          int
	Ticks              []int
	Held, Cut          bool
	worst              float64
	measurements, held int
}

// bars joins the promises of each table that are of the same kind.
func bars(tables []table) []bar {
	var all []bar
	for _, t := range tables {
		byWord := map[string]int{}
		for _, r := range t.Results {
			for _, v := range r.Verdicts {
				if !v.promised() || !v.Known {
					continue
				}
				label := t.Title
				if v.Word != "" {
					label += ", of " + v.Word
				}
				key := label + fmt.Sprint(v.Most)
				i, ok := byWord[key]
				if !ok {
					i = len(all)
					byWord[key] = i
					all = append(all, bar{Label: label, Held: true, worst: -1})
				}
				all[i].add(v)
			}
		}
	}
	for i := range all {
		all[i].Y = chartTop + i*chartRow
		if n := all[i].measurements; n > 1 {
			all[i].Value += fmt.Sprintf("; %d of %d held", all[i].held, n)
		}
	}
	return all
}

func (b *bar) add(v verdict) {
	share := max(v.Measured/v.Most, 0)
	b.measurements++
	if v.held() {
		b.held++
	}
	b.Held = b.Held && v.held()
	b.Ticks = append(b.Ticks, pixels(share))
	if share > b.worst {
		b.worst, b.Length, b.Cut = share, pixels(share), share > chartMost
		b.Value = quantity(v.Measured, v.Unit) + " (goal " + quantity(v.Most, v.Unit) + ")"
	}
}

func pixels(share float64) int { return int(chartGoal * min(share, chartMost)) }

var chartTemplate = template.Must(template.New("chart").Funcs(template.FuncMap{
	"add": func(a, b int) int { return a + b },
	"xml": func(s string) string {
		return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "`", "").Replace(s)
	},
}).Parse(`<svg xmlns="http://www.w3.org/2000/svg" width="{{.Width}}" height="{{.Height}}" viewBox="0 0 {{.Width}} {{.Height}}" role="img" aria-label="Each goal and how much of it was used">
<style>
text { font: 12px system-ui, sans-serif; fill: #24292f }
.name { text-anchor: end }
.held { fill: #2da44e } .missed { fill: #cf222e }
.tick { stroke: #ffffff; stroke-opacity: .7 } .goal { stroke: #57606a; stroke-dasharray: 4 3 }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .tick { stroke: #0d1117 } .goal { stroke: #8b949e } .held { fill: #3fb950 } .missed { fill: #f85149 } }
</style>
<text x="{{.Goal}}" y="16" text-anchor="middle">goal</text>
<line class="goal" x1="{{.Goal}}" y1="22" x2="{{.Goal}}" y2="{{.Height}}"/>
{{- range .Bars}}
<text class="name" x="{{add $.Left -8}}" y="{{add .Y 13}}">{{xml .Label}}</text>
<rect class="{{if .Held}}held{{else}}missed{{end}}" x="{{$.Left}}" y="{{add .Y 3}}" width="{{.Length}}" height="13" rx="2"/>
{{- $y := .Y}}{{range .Ticks}}
<line class="tick" x1="{{add $.Left .}}" y1="{{add $y 5}}" x2="{{add $.Left .}}" y2="{{add $y 14}}"/>
{{- end}}
<text x="{{add $.Left (add .Length 6)}}" y="{{add .Y 13}}">{{if .Cut}}» {{end}}{{xml .Value}}</text>
{{- end}}
</svg>
`))

func chartOf(tables []table) string {
	all := bars(tables)
	var b strings.Builder
	err := chartTemplate.Execute(&b, map[string]any{
		"Width": chartWidth, "Height": chartTop + len(all)*chartRow + 6, "Left": chartLeft, "Goal": chartLeft + chartGoal, "Bars": all,
	})
	if err != nil {
		panic(err) // the template is a constant
	}
	return b.String()
}
