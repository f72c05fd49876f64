//go:build !unix

package main

import "errors"

func (p *process) freeze() error {
	return errors.New("a process is frozen with a signal, which this system does not have")
}

func (p *process) thaw() error { return p.freeze() }
