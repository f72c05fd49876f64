package admin

import (
	"net/url"
	"regexp"
	"strings"
	"sync"
)

// mask stands in place of a secret.
const mask = "***"

// expressions find what may be secret in a value.
type expressions struct {
	address                  *regexp.Regexp // with a scheme
	pair                     *regexp.Regexp // password=x
	beforeProtocol, beforeAt *regexp.Regexp // user:x@tcp(, user:x@
}

// secrets are compiled when the first value is masked.
var secrets = sync.OnceValue(func() *expressions {
	return &expressions{
		address: regexp.MustCompile(`[a-zA-Z][a-zA-Z0-9+.-]*://(?:[^\s/]*@)?[^\s,;|"']+`),
		pair: regexp.MustCompile(`(?is)([\w.-]*(?:password|passwd|passphrase|pwd|secret|token|credential|(?:api|access|account|private)[_-]?key)[\w.-]*\s*=\s*)` +
			`(?:(?:'(?:[^'\\]|\\.|'')*(?:'|\\?$)|"(?:[^"\\]|\\.|"")*(?:"|\\?$))[^\s;,&]*|[^\s;,&]+)`),
		beforeProtocol: regexp.MustCompile(`([^\s:/@=,;]*):\S+@(\w+\()`),
		beforeAt:       regexp.MustCompile(`([^\s:/@=,;]*):[^\s/]+@`),
	}
})

// Sensitive tells whether a name is that of a secret: it has a word such as password, secret,
// token, credential or API key in it. It decides which fields and settings are masked where a
// configuration does not.
func Sensitive(name string) bool {
	name = strings.NewReplacer("_", "", "-", "", ".", "", " ", "").Replace(strings.ToLower(name))
	for _, word := range []string{"password", "passwd", "passphrase", "secret", "token", "credential", "authorization", "apikey", "accesskey", "privatekey", "signingkey", "cookie"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

// Masked is a value of a setting as it may be shown: "***" if its name is Sensitive, and without
// the password of a URL or of a source of data.
func Masked(name, value string) string {
	switch {
	case value == "":
		return ""
	case Sensitive(name):
		return mask
	}
	// There may be several addresses in a value, and words between them, so it is not parsed as a whole. What stands before
	// an @ may have any character but the slash.
	value = maskedPairs(value)
	var shown strings.Builder
	behind := 0
	for _, at := range secrets().address.FindAllStringIndex(value, -1) {
		shown.WriteString(maskedSource(value[behind:at[0]]) + maskedURL(value[at[0]:at[1]]))
		behind = at[1]
	}
	return shown.String() + maskedSource(value[behind:])
}

// maskedPairs hides passwords as drivers of databases take them by name: host=db password=x. In quotes a password may have
// quotes, doubled or behind a backslash; what follows a quote without a space belongs to it.
func maskedPairs(text string) string {
	return secrets().pair.ReplaceAllString(text, "${1}"+mask)
}

// maskedSource hides passwords as drivers of databases take them before an address: user:x@tcp(db). Before a protocol in this
// form a password may have slashes.
func maskedSource(text string) string {
	text = secrets().beforeProtocol.ReplaceAllString(text, "${1}:xxxxx@${2}")
	return secrets().beforeAt.ReplaceAllString(text, "${1}:xxxxx@")
}

// maskedURL hides the password of a URL, and the parameters that are secrets.
func maskedURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return mask
	}
	if _, has := u.User.Password(); has {
		u.User = url.UserPassword(u.User.Username(), "xxxxx")
	}
	query := u.Query()
	changed := false
	for name := range query {
		if Sensitive(name) {
			query.Set(name, "xxxxx")
			changed = true
		}
	}
	if changed {
		u.RawQuery = query.Encode()
	}
	return u.String()
}
