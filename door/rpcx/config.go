package rpcx

import (
	"fmt"

	"github.com/weftrpc/weft"
)

// Config says what the door serves beyond rpcx's own. The zero value, and a nil pointer to one, are
// the defaults.
type Config struct {
	// Codecs are further codecs of the server by the number that clients give them, 4 to 15. 4 is
	// "thrift" unless it is named here.
	Codecs map[int]string
	// Compressors are further compressors of the server by the number that clients give them, 2 to 7.
	// Number 1 is gzip, which the server need not have.
	Compressors map[int]string
}

// Door returns a door for clients of rpcx. A number of cfg that cannot be given is an error of every connection.
func Door(cfg *Config) weft.Door {
	if cfg == nil {
		cfg = &Config{}
	}
	return &door{
		names: serialNames(cfg.Codecs), compressors: compressorNames(cfg.Compressors),
		wrong: checkNumbers(cfg.Codecs, cfg.Compressors),
	}
}

// checkNumbers tells what is wrong with the numbers of a configuration.
func checkNumbers(codecs, compressors map[int]string) error {
	for n, name := range codecs {
		if n <= serialMsgpack || n >= serials || name == "" {
			return weft.Errorf(weft.InvalidArgument, "rpcx: Config.Codecs has number %d for %q, want 4 to 15 and a name", n, name)
		}
	}
	for n, name := range compressors {
		if n <= compressGzip || n >= compressions || name == "" {
			return weft.Errorf(weft.InvalidArgument, "rpcx: Config.Compressors has number %d for %q, want 2 to 7 and a name", n, name)
		}
	}
	return nil
}

// refusal is the error of a call that does not reach its handler.
func refusal(code weft.Code, reason, format string, args ...any) *weft.Error {
	return &weft.Error{Code: code, Outcome: weft.Refused, Reason: reason, Message: fmt.Sprintf(format, args...)}
}
