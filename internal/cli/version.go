package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"pipe/internal/view"
	"pipe/pipeline"
)

// module is the path of the module that this command comes from, also where it is built into a program of somebody's own.
const module = "pipe"

type versionInfo struct {
	Version string `json:"version"`
	Go      string `json:"go"`
	Iceberg string `json:"iceberg_go"`
	Arrow   string `json:"arrow_go"`
}

// version reads what the program was built from.
func version() versionInfo {
	v := versionInfo{Version: "unknown", Go: runtime.Version(), Iceberg: "unknown", Arrow: "unknown"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	name := func(m *debug.Module) string {
		if m.Replace != nil {
			m = m.Replace
		}
		if m.Version == "" || m.Version == "(devel)" {
			return "devel"
		}
		return m.Version
	}
	if info.Main.Path == module {
		v.Version = name(&info.Main)
	}
	for _, d := range info.Deps {
		switch d.Path {
		case module:
			v.Version = name(d)
		case "github.com/apache/iceberg-go":
			v.Iceberg = name(d)
		case "github.com/apache/arrow-go/v18":
			v.Arrow = name(d)
		}
	}
	return v
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Name the versions of pipe and of the libraries that read and write tables",
		Args:  exactly(),
		RunE: func(*cobra.Command, []string) error {
			v := version()
			if a.json {
				return view.JSON(a.env.Stdout, v)
			}
			_, err := fmt.Fprintf(a.env.Stdout, "pipe %s\n%s\niceberg-go %s\narrow-go %s\n", v.Version, v.Go, v.Iceberg, v.Arrow)
			return err
		},
	}
}

func (a *app) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Write the JSON Schema of pipeline.yaml, for editors",
		Args:  exactly(),
		RunE: func(*cobra.Command, []string) error {
			_, err := a.env.Stdout.Write(pipeline.JSONSchema())
			return err
		},
	}
}
