package redis

import (
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// explain adds to an error of Redis what can be done.
func explain(err error) error {
	switch {
	case redis.IsAuthError(err):
		return fmt.Errorf("%w (set User and Password to those of a user of this Redis)", err)
	case redis.IsPermissionError(err):
		return fmt.Errorf("%w (give the user the keys and channels that begin with Prefix, and the commands of scripts, hashes, sorted sets and pubsub)", err)
	case redis.IsReadOnlyError(err):
		return fmt.Errorf("%w (this is a replica: name the master in Addresses, or the Sentinels and the Master)", err)
	case redis.IsOOMError(err):
		return fmt.Errorf("%w (raise maxmemory)", err)
	case strings.HasPrefix(err.Error(), "WRONGTYPE"):
		return fmt.Errorf("%w (another program uses the key: use another Prefix)", err)
	}
	return err
}
