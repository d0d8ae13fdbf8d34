package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/multiollama/mcp-server/shared/fault"
)

func (a *app) toolsCommand() *cobra.Command {
	var asJSON, asMarkdown bool
	c := &cobra.Command{
		Use:   "tools",
		Short: "List the tools that are offered with these settings",
		Args:  a.noCommand,
		RunE: func(c *cobra.Command, _ []string) error {
			if asJSON && asMarkdown {
				return fault.New(fault.Misconfigured, "--json and --markdown stand together", "Use one of the two")
			}
			service, err := a.look(c.Context())
			if err != nil {
				return err
			}
			defer service.close()
			switch tools := service.Vocabulary.Tools; {
			case asJSON:
				out := make([]described, len(tools))
				for i, t := range tools {
					out[i] = described{t.Name, t.Title, t.Doc, t.Toolset, t.Effect.String(), t.Destructive, t.InputSchema(), t.OutputSchema()}
				}
				return writeJSON(a.env.Stdout, out)
			case asMarkdown:
				sections := make([]string, len(tools))
				for i, t := range tools {
					sections[i] = t.Markdown()
				}
				_, err := io.WriteString(a.env.Stdout, strings.Join(sections, "\n"))
				return err
			}
			return writeTable(a.env.Stdout, service)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "as JSON, with schemas")
	c.Flags().BoolVar(&asMarkdown, "markdown", false, "as Markdown, with parameters")
	// The help also names what --toolsets and --vocabulary accept, if the server can be opened.
	usual := c.HelpFunc()
	c.SetHelpFunc(func(c *cobra.Command, args []string) {
		usual(c, args)
		ctx := c.Context()
		if ctx == nil {
			ctx = context.Background()
		}
		if service, err := a.look(ctx); err == nil {
			defer service.close()
			fmt.Fprintln(c.OutOrStdout())
			_ = writeChoices(c.OutOrStdout(), service) // help is printed as far as it can be
		}
	})
	return c
}

// look is the service for a look at it: nothing is recorded or restricted.
func (a *app) look(ctx context.Context) (*Service, error) {
	set, err := a.load()
	if err != nil {
		return nil, err
	}
	return a.open(ctx, set)
}

// described is a tool as tools --json shows it; the schemas are those of
// tools/list.
type described struct {
	Name         string          `json:"name"`
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description"`
	Toolset      string          `json:"toolset,omitempty"`
	Effect       string          `json:"effect"`
	Destructive  bool            `json:"destructive"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
}

// writeTable lists the tools with their outermost parameters, the optional ones in brackets.
func writeTable(w io.Writer, s *Service) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "TOOL\tEFFECT\tTOOLSET\tPARAMETERS")
	for _, t := range s.Vocabulary.Tools {
		var params []string
		for _, p := range t.Params() {
			switch {
			case strings.ContainsAny(p.Name, ".["): // of another parameter
			case p.Required:
				params = append(params, p.Name)
			default:
				params = append(params, "["+p.Name+"]")
			}
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", t.Name, t.Effect, t.Toolset, strings.Join(params, " "))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	return writeChoices(w, s)
}

// writeChoices names what --vocabulary and --toolsets take.
func writeChoices(w io.Writer, s *Service) error {
	names := make([]string, len(s.Vocabularies))
	whole := s.Vocabulary
	for i, v := range s.Vocabularies {
		if names[i] = v.Name; v.Name == whole.Name {
			whole = v.Make()
		}
	}
	_, err := fmt.Fprintf(w, "vocabulary: %s (of %s)\ntoolsets: %s\n",
		whole.Name, strings.Join(names, ", "), strings.Join(whole.Toolsets(), ", "))
	return err
}
