package reflection

// The messages of grpc.reflection.v1 and v1alpha, which are the same but for their names.
type (
	// Request is a ServerReflectionRequest.
	Request struct {
		Host                      string     `weft:"1"`
		FileByFilename            *string    `weft:"3"`
		FileContainingSymbol      *string    `weft:"4"`
		FileContainingExtension   *Extension `weft:"5"`
		AllExtensionNumbersOfType *string    `weft:"6"`
		ListServices              *string    `weft:"7"`
	}

	// Extension is an ExtensionRequest.
	Extension struct {
		ContainingType  string `weft:"1"`
		ExtensionNumber int32  `weft:"2"`
	}

	// Response is a ServerReflectionResponse.
	Response struct {
		ValidHost           string       `weft:"1"`
		OriginalRequest     *Request     `weft:"2"`
		FileDescriptor      *Files       `weft:"4"`
		AllExtensionNumbers *Extensions  `weft:"5"`
		ListServices        *ServiceList `weft:"6"`
		Error               *Error       `weft:"7"`
	}

	// Files is a FileDescriptorResponse: a google.protobuf.FileDescriptorProto each.
	Files struct {
		FileDescriptorProto [][]byte `weft:"1"`
	}

	// Extensions is an ExtensionNumberResponse.
	Extensions struct {
		BaseTypeName    string  `weft:"1"`
		ExtensionNumber []int32 `weft:"2"`
	}

	// ServiceList is a ListServiceResponse.
	ServiceList struct {
		Service []Service `weft:"1"`
	}

	// Service is a ServiceResponse.
	Service struct {
		Name string `weft:"1"`
	}

	// Error is an ErrorResponse.
	Error struct {
		Code    int32  `weft:"1"`
		Message string `weft:"2"`
	}
)
