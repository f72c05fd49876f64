package admin

import (
	"net/url"
	"regexp"
	"strings"
)

// mask stands in place of a secret.
const mask = "***"

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
	case !strings.Contains(value, "://"):
		// As drivers of databases take it: host=db password=x, and user:x@tcp(db).
		value = regexp.MustCompile(`(?i)([\w.-]*(?:password|passwd|pwd|secret|token|apikey|api_key)[\w.-]*\s*=\s*)('[^']*'|"[^"]*"|[^\s;,&]+)`).ReplaceAllString(value, "${1}"+mask)
		return regexp.MustCompile(`([^\s:/@=,;]+):[^\s/]+@`).ReplaceAllString(value, "${1}:xxxxx@")
	}
	// Several addresses are often in one value, so it is not parsed as a whole.
	return regexp.MustCompile(`[a-zA-Z][a-zA-Z0-9+.-]*://[^\s,;|"']+`).ReplaceAllStringFunc(value, maskedURL)
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
