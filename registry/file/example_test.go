package file_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/file"
)

func Example() {
	dir, err := os.MkdirTemp("", "weft")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	// What people write:
	path := filepath.Join(dir, "registry.json")
	err = os.WriteFile(path, []byte(`{
		"services": {
			"Arith": [
				{"id": "one", "address": "tcp://10.0.0.7:8972"},
				{"id": "two", "address": "tcp://10.0.0.8:8972", "weight": 300}
			]
		}
	}`), 0o600)
	if err != nil {
		fmt.Println(err)
		return
	}
	reg, err := file.New(path, &registry.Config{NoCache: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer reg.Close()

	// What a server adds by itself, with its ServerConfig.Registry:
	_, err = reg.Register(weft.Instance{Service: "Arith", ID: "three", Address: "tcp://127.0.0.1:8972"})
	if err != nil {
		fmt.Println(err)
		return
	}

	// What a client sees:
	lists := make(chan []weft.Instance, 10)
	stop := reg.Watch("Arith", func(s *registry.Snapshot) { lists <- s.Instances })
	defer stop()
	for list := range lists {
		if len(list) < 3 {
			continue // the server was not there yet
		}
		for _, i := range list {
			fmt.Println(i.ID, i.Address)
		}
		break
	}
	// Output:
	// one tcp://10.0.0.7:8972
	// three tcp://127.0.0.1:8972
	// two tcp://10.0.0.8:8972
}
