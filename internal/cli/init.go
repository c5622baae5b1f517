package cli

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pipe/internal/diag"
	"pipe/internal/fsx"
	"pipe/internal/repo"
	"pipe/internal/view"
)

//go:embed template
var template embed.FS

// ignored are the lines that a project's .gitignore needs; .pipe ignores itself.
var ignored = []string{"/" + repo.LocalFile}

func (a *app) initCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "init",
		Short: "Write a small working project into this folder",
		Long: `Write pipeline.yaml, params.yaml and a script into this folder: two stages, one that generates rows and one that counts them.
Nothing is overwritten. A project needs no init: a pipeline.yaml is enough.`,
		Args: exactly(),
		RunE: func(*cobra.Command, []string) error { return a.runInit() },
	}
}

func (a *app) runInit() error {
	dir, err := a.named()
	if err != nil {
		return err
	}
	if dir == "" {
		if dir, err = a.env.Getwd(); err != nil {
			return &diag.Error{Exit: diag.Broken, Msg: "the current folder is gone: " + err.Error(), Err: err}
		}
	}
	list, err := fs.ReadDir(template, "template")
	if err != nil {
		return err
	}
	var taken diag.List
	for _, f := range list {
		if _, err := os.Lstat(filepath.Join(dir, f.Name())); !errors.Is(err, fs.ErrNotExist) {
			taken = append(taken, diag.Errorf(diag.Pos{}, "%s is there already, and init overwrites nothing", f.Name()).
				With("run pipe init in an empty folder"))
		}
	}
	if err := taken.Err(); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return unwritable(err, dir)
	}
	var wrote []string
	for _, f := range list {
		data, err := template.ReadFile("template/" + f.Name())
		if err != nil {
			return err
		}
		perm := fs.FileMode(0o666)
		if strings.HasSuffix(f.Name(), ".sh") {
			perm = 0o777
		}
		if err := fsx.WriteAtomic(filepath.Join(dir, f.Name()), data, perm); err != nil {
			return unwritable(err, f.Name())
		}
		wrote = append(wrote, f.Name())
	}
	changed, err := addIgnored(dir)
	if err != nil {
		return err
	}
	if changed {
		wrote = append(wrote, ".gitignore")
	}
	l, err := repo.Open(dir)
	if err != nil {
		return err
	}
	if err := a.prepare(l); err != nil {
		return err
	}
	slices.Sort(wrote)
	if a.json {
		return view.JSON(a.env.Stdout, map[string]any{"files": wrote})
	}
	if !a.quiet {
		_, _ = fmt.Fprintln(a.env.Stderr, "next: pipe repro")
	}
	_, err = fmt.Fprintf(a.env.Stdout, "Wrote %s.\n", strings.Join(wrote, ", "))
	return err
}

// addIgnored adds the lines that are missing to .gitignore, and tells whether there were any.
func addIgnored(dir string) (bool, error) {
	path := filepath.Join(dir, ".gitignore")
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, unwritable(err, ".gitignore")
	}
	text := string(data)
	have := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	changed := false
	for _, line := range ignored {
		if slices.Contains(have, line) {
			continue
		}
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		text += line + "\n"
		changed = true
	}
	if !changed {
		return false, nil
	}
	if err := fsx.WriteAtomic(path, []byte(text), 0o666); err != nil {
		return false, unwritable(err, ".gitignore")
	}
	return true, nil
}

func unwritable(err error, path string) error {
	return &diag.Error{Exit: diag.Broken, Msg: fsx.Explain(err, path), Err: err}
}
