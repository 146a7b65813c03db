package protocol

// The words of the transport grpc, which engine/plugin/provider.proto describes.
const (
	// Service begins the name of each method: the word of the method follows, with a large first letter.
	Service = "/mgmt.provider.v1.Provider/"
	// TokenHeader is the key of the metadata of each call that has the token of the start.
	TokenHeader = "mgmt-token"
	// ErrorTrailer is the key of the trailing metadata that has an Error as a message.
	ErrorTrailer = "mgmt-error-bin"
)

// MethodOf returns the name of a method as gRPC has it.
func MethodOf(method string) string {
	if method == "" {
		return Service
	}
	first := method[0]
	if 'a' <= first && first <= 'z' {
		first -= 'a' - 'A'
	}
	return Service + string(rune(first)) + method[1:]
}

// statuses has the status of gRPC for each code of an Error.
var statuses = map[string]uint32{
	CodeCanceled: 1, CodeInvalid: 3, CodeDenied: 7, CodeConflict: 10, CodeUnimplemented: 12, CodeInternal: 13, CodeUnavailable: 14,
}

// StatusOf returns the status of gRPC for a code of an Error; that of CodeInternal for an unknown one.
func StatusOf(code string) uint32 {
	if s, ok := statuses[code]; ok {
		return s
	}
	return statuses[CodeInternal]
}

// CodeOf returns the code of an Error for a status of gRPC; CodeInternal for one that has no code of its own.
func CodeOf(status uint32) string {
	for code, s := range statuses {
		if s == status {
			return code
		}
	}
	return CodeInternal
}

// messages has the request and the reply of a method. A method without a reply answers with a stream.
type messages struct{ request, reply func() any }

func made[T any]() any { return new(T) }

var methods = map[string]messages{
	MethodHandshake: {made[HandshakeRequest], made[HandshakeReply]},
	MethodSchema:    {made[SchemaRequest], made[SchemaReply]},
	MethodConfigure: {made[ConfigureRequest], made[Empty]},
	MethodCheck:     {made[CheckRequest], made[CheckReply]},
	MethodDiff:      {made[DiffRequest], made[DiffReply]},
	MethodGet:       {made[GetRequest], made[GetReply]},
	MethodCreate:    {made[CreateRequest], made[CreateReply]},
	MethodUpdate:    {made[UpdateRequest], made[UpdateReply]},
	MethodDelete:    {made[DeleteRequest], made[Empty]},
	MethodList:      {made[ListRequest], made[ListReply]},
	MethodWatch:     {request: made[WatchRequest]},
	MethodBatch:     {made[BatchRequest], made[BatchReply]},
	MethodLogs:      {request: made[LogsRequest]},
	MethodShutdown:  {made[ShutdownRequest], made[Empty]},
}

// Request returns a new request of a method, as a pointer; nil for an unknown method.
func Request(method string) any {
	if m, ok := methods[method]; ok {
		return m.request()
	}
	return nil
}

// Reply returns a new reply of a method, as a pointer; nil for an unknown method, and for one that answers with a stream.
func Reply(method string) any {
	if m := methods[method]; m.reply != nil {
		return m.reply()
	}
	return nil
}
