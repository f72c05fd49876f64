package shop

import "github.com/weftrpc/weft/codec/generated"

type generatedReader = generated.Reader
