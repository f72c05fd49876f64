package redis_test

import (
	"fmt"

	"github.com/weftrpc/weft/registry/redis"
)

func Example() {
	r, err := redis.New(redis.Config{Addresses: []string{"redis.example:6379"}, DB: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	fmt.Println(r.Name())
	// Output: redis redis.example:6379/2/weft
}
