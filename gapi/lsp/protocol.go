package lsp

import "encoding/json"

// message is a request, a notification or an answer of JSON-RPC 2.0. A notification has no ID.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *failure        `json:"error,omitempty"`
}

// failure is the error of an answer.
type failure struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// Error returns the message.
func (f *failure) Error() string { return f.Message }

// The codes of failures, by JSON-RPC and by the protocol.
const (
	codeParse          = -32700
	codeInvalid        = -32600
	codeNoMethod       = -32601
	codeBadParams      = -32602
	codeInternal       = -32603
	codeNotInitialized = -32002
	codeFailed         = -32803 // the request is right, and can't be done
	codeCanceled       = -32800
)

// position is a place in a document: the line, and the UTF-16 units in it, from 0.
type position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

// span is a part of a document. The end does not belong to it.
type span struct {
	Start position `json:"start"`
	End   position `json:"end"`
}

// location is a part of a document that need not be open.
type location struct {
	URI   string `json:"uri"`
	Range span   `json:"range"`
}

// textEdit replaces a part of a document. The edits of one answer count on the same text, and do not overlap.
type textEdit struct {
	Range   span   `json:"range"`
	NewText string `json:"newText"`
}

// workspaceEdit has the edits of several documents, by URI. The editor applies all of them or none.
type workspaceEdit struct {
	Changes map[string][]textEdit `json:"changes"`
}

// diagnostic is a finding in the words of the protocol. Severity is 1 for an error, 2 for a warning and 3 for a note.
type diagnostic struct {
	Range    span          `json:"range"`
	Severity int           `json:"severity"`
	Code     string        `json:"code,omitempty"`
	Source   string        `json:"source"`
	Message  string        `json:"message"`
	Related  []relatedInfo `json:"relatedInformation,omitempty"`
	Data     *fix          `json:"data,omitempty"`
}

// fix is the word that was probably meant. An editor sends it back when it asks for code actions.
type fix struct {
	Word string `json:"word"`
}

// relatedInfo is another place of a finding, such as the first of two declarations.
type relatedInfo struct {
	Location location `json:"location"`
	Message  string   `json:"message"`
}

// published are all findings about one document: they replace those before. Version is that of the open document, and editors drop findings
// about an older text than their own.
type published struct {
	URI         string       `json:"uri"`
	Version     *int         `json:"version,omitempty"`
	Diagnostics []diagnostic `json:"diagnostics"`
}

// markup is a text for people, in Markdown.
type markup struct {
	Kind  string `json:"kind"`
	Value string `json:"value"`
}

// markdown returns a text in Markdown.
func markdown(text string) *markup { return &markup{"markdown", text} }

// hover is the answer to a hover: a text, and the part of the document that it explains.
type hover struct {
	Contents *markup `json:"contents"`
	Range    span    `json:"range"`
}

// The kinds of completions and symbols that are used here, by the protocol.
const (
	itemFunction  = 3
	itemVariable  = 6
	itemClass     = 7
	itemProperty  = 10
	itemValue     = 12
	itemFile      = 17
	itemReference = 18
	symbolObject  = 19
)

// completionItem is one word that may stand at the cursor. FilterText is compared with the typed letters, and TextEdit replaces them.
type completionItem struct {
	Label         string    `json:"label"`
	Kind          int       `json:"kind"`
	Detail        string    `json:"detail,omitempty"`
	Documentation *markup   `json:"documentation,omitempty"`
	SortText      string    `json:"sortText,omitempty"`
	FilterText    string    `json:"filterText,omitempty"`
	TextEdit      *textEdit `json:"textEdit,omitempty"`
}

// completionList is the answer to a completion. An incomplete list is asked for again with each letter.
type completionList struct {
	Incomplete bool             `json:"isIncomplete"`
	Items      []completionItem `json:"items"`
}

// documentSymbol is a resource in the outline of a document. Selection, the name, lies in Range.
type documentSymbol struct {
	Name      string `json:"name"`
	Detail    string `json:"detail,omitempty"`
	Kind      int    `json:"kind"`
	Range     span   `json:"range"`
	Selection span   `json:"selectionRange"`
}

// symbolInformation is a resource of any document.
type symbolInformation struct {
	Name     string   `json:"name"`
	Kind     int      `json:"kind"`
	Location location `json:"location"`
}

// codeAction is a change that removes the cause of a finding, by one press of a key.
type codeAction struct {
	Title       string         `json:"title"`
	Kind        string         `json:"kind"`
	Diagnostics []diagnostic   `json:"diagnostics"`
	Preferred   bool           `json:"isPreferred"`
	Edit        *workspaceEdit `json:"edit"`
}

// document is a document as messages name it. Most of them have the URI alone, and the version where they are about an edit.
type document struct {
	URI        string `json:"uri"`
	Version    int    `json:"version"`
	Text       string `json:"text"`
	LanguageID string `json:"languageId"`
}

// at are the parameters of a request about a place.
type at struct {
	Document document `json:"textDocument"`
	Position position `json:"position"`
}

// contentChange is one edit of an open document. Without a range, the text is the whole document.
type contentChange struct {
	Range *span  `json:"range"`
	Text  string `json:"text"`
}

// initializeParams are the parts of the first request that count here. Clients before version 3.6 of the protocol have RootURI alone.
type initializeParams struct {
	RootURI string `json:"rootUri"`
	Folders []struct {
		URI string `json:"uri"`
	} `json:"workspaceFolders"`
}

// capabilities are what the server can do, as initialize answers it.
func capabilities(version string) any {
	return map[string]any{
		"serverInfo": map[string]string{"name": "mgmt", "version": version},
		"capabilities": map[string]any{
			"positionEncoding":           "utf-16",
			"textDocumentSync":           map[string]any{"openClose": true, "change": 2, "save": true},
			"completionProvider":         map[string]any{"triggerCharacters": []string{".", "[", "'", "\"", "{", " "}},
			"hoverProvider":              true,
			"definitionProvider":         true,
			"referencesProvider":         true,
			"documentSymbolProvider":     true,
			"workspaceSymbolProvider":    true,
			"foldingRangeProvider":       true,
			"documentFormattingProvider": true,
			"renameProvider":             map[string]any{"prepareProvider": true},
			"codeActionProvider":         map[string]any{"codeActionKinds": []string{"quickfix"}},
		},
	}
}
