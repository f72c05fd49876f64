// Package memory is a registry within one process, for tests and small programs: its
// servers and its clients share a value.
//
//	reg, err := memory.New(nil)
//	server := weft.NewServer(&weft.ServerConfig{Registry: reg})
//
// It does what registries with servers do, too: instances that are not refreshed
// expire, by the clock of package time, and so by that of a testing/synctest bubble;
// lists have revisions; documents are kept. Several registries of one [Store] stand
// for as many processes.
package memory

import "github.com/weftrpc/weft/registry"

// New makes a registry with a store of its own; see [Store.Registry].
func New(cfg *registry.Config) (*registry.Registry, error) { return NewStore().Registry(cfg) }

// Registry makes a registry whose content is in the store, which others may share.
// Nothing is cached on disk, and unless Config.Protect is set every list is used
// at once: a store neither fails nor forgets.
func (s *Store) Registry(cfg *registry.Config) (*registry.Registry, error) {
	var c registry.Config
	if cfg != nil {
		c = *cfg
	}
	c.NoCache = true
	if c.Protect == 0 {
		c.Protect = -1
	}
	return registry.New("memory", s.Driver(), &c)
}
