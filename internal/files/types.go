// Package files observes what stages read and make: digests of files, directories and globs, cached by what the file system tells.
package files
