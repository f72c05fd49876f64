//go:build unix

package main

import "syscall"

// freeze stops a process in the middle of whatever it is doing: its connections stay
// open, and it says nothing any more.
func (p *process) freeze() error { return p.cmd.Process.Signal(syscall.SIGSTOP) }

// thaw lets it go on.
func (p *process) thaw() error { return p.cmd.Process.Signal(syscall.SIGCONT) }
