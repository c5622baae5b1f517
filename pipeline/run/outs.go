package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"pipe/internal/conform"
	"pipe/internal/diag"
	"pipe/internal/tabledigest"
	"pipe/pipeline"
	"pipe/pipeline/fingerprint"
	"pipe/pipeline/plan"
	"pipe/pipeline/schema"
	"pipe/sinks"
	"pipe/stages"
)

// tableOut is one table out of one attempt: what a kind writes is matched with the schema, digested and handed to the sink.
type tableOut struct {
	step     plan.OutStep
	catalog  sinks.Catalog
	run      string
	project  string
	recorded []string // columns that an earlier run inferred
	progress func(rows int64)

	tx      sinks.Tx
	plan    *conform.Plan
	hasher  *tabledigest.Hasher
	columns []string // what this run inferred; nil with a declared schema
	schema  schema.Schema

	mu    sync.Mutex
	sum   tabledigest.Sum
	carry map[string]string
}

// open is TableOut.Open.
func (o *tableOut) open(ctx context.Context, columns *arrow.Schema) (stages.Writer, error) {
	if o.tx != nil {
		return nil, fmt.Errorf("table %s was opened twice", o.step.Key)
	}
	if o.step.Out.Schema != nil {
		o.schema = *o.step.Out.Schema
	} else {
		inferred, err := sinks.FromArrow(columns)
		if err != nil {
			return nil, err
		}
		o.schema, o.columns = inferred, describe(inferred)
		if o.recorded != nil && !slices.Equal(o.recorded, o.columns) {
			return nil, (&diag.Error{
				Exit: diag.Failed, Pos: o.step.Out.Pos,
				Msg: fmt.Sprintf("the columns of %s are others than before: were [%s], are [%s]", o.step.Key, strings.Join(o.recorded, ", "), strings.Join(o.columns, ", ")),
			}).With("say which it is to be: schema: {%s}", strings.Join(o.columns, ", "))
		}
	}
	tx, err := o.catalog.Begin(ctx, sinks.Spec{
		Table: o.step.Key.Table, Schema: o.schema, PartitionBy: o.step.Out.PartitionBy, SortBy: o.step.Out.SortBy, Key: o.step.Out.Key,
		Properties: o.step.Out.Properties, Project: o.project,
	}, sinks.Base{Parent: o.step.Base, Append: o.step.Out.Mode == pipeline.Append, Run: o.run})
	if err != nil {
		return nil, o.failed(err)
	}
	o.tx = tx
	if o.plan, err = conform.New(columns, tx.Schema()); err != nil {
		return nil, err
	}
	if o.hasher, err = tabledigest.New(tx.Schema()); err != nil {
		return nil, err
	}
	return o, nil
}

// describe writes columns as the lock holds them.
func describe(s schema.Schema) []string {
	out := make([]string, len(s.Fields))
	for i, f := range s.Fields {
		out[i] = f.String()
	}
	return out
}

func (o *tableOut) failed(err error) error {
	if errors.Is(err, sinks.ErrSchema) {
		return (&diag.Error{Exit: diag.Failed, Pos: o.step.Out.Pos, Msg: err.Error(), Err: err}).
			With("an append keeps the columns that its table has; write to a new table, or replace")
	}
	return environment(err, "write "+o.step.Key.String())
}

// Write is stages.Writer.
func (o *tableOut) Write(ctx context.Context, batch arrow.RecordBatch) error {
	b, err := o.plan.Batch(batch)
	if err != nil {
		return err
	}
	defer b.Release()
	sum := o.hasher.Batch(b)
	o.mu.Lock()
	o.sum = o.sum.Add(sum)
	rows := o.sum.Rows()
	o.mu.Unlock()
	if err := o.tx.Write(ctx, b); err != nil {
		return o.failed(err)
	}
	o.progress(rows)
	return nil
}

func (o *tableOut) carryOn(key, value string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.carry == nil {
		o.carry = map[string]string{}
	}
	o.carry[key] = value
}

// digest gives the digest of the whole table as it will be: the base's sum and the rows written.
func (o *tableOut) digest(base plan.Content) (fingerprint.Digest, tabledigest.Sum, error) {
	sum := o.sum
	if o.step.Out.Mode == pipeline.Append && base.Rows > 0 {
		b, err := tabledigest.ParseSum(base.Sum)
		if err != nil {
			return "", sum, fmt.Errorf("sum of %s at snapshot %s: %w", o.step.Key, o.step.Base, err)
		}
		sum = sum.Add(b)
	}
	return tabledigest.Digest(sum, o.schema), sum, nil
}

func (o *tableOut) abort(ctx context.Context) {
	if o.tx != nil {
		// The rows are not in any snapshot; files that cannot be deleted now are found by gc.
		_ = o.tx.Abort(context.WithoutCancel(ctx))
	}
}
