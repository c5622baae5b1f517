// Command pipe runs the stages of pipeline.yaml that changed and commits what they make as snapshots of tables.
package main

import "pipe/cmd/pipe/app"

func main() { app.Main(nil) }
