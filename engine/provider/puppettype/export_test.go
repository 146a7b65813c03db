package puppettype

// Quote writes a string as a literal.
var Quote = quote
