package admin_test

import (
	"testing"

	"github.com/weftrpc/weft/admin"
)

// Passwords are not shown in the forms in which drivers of databases take them.
func TestMaskedSources(t *testing.T) {
	for value, want := range map[string]string{
		"host=db user=ada password=hunter2 sslmode=on":                   "host=db user=ada password=*** sslmode=on",
		"Server=db;User Id=ada;Password='hunter 2';Max=5":                "Server=db;User Id=ada;Password=***;Max=5",
		"ada:hunter2@tcp(db:3306)/shop":                                  "ada:xxxxx@tcp(db:3306)/shop",
		"redis:6379,password=hunter2,ssl=true":                           "redis:6379,password=***,ssl=true",
		"host=db password=hunter2 sslrootcert=file:///etc/ca.pem":        "host=db password=*** sslrootcert=file:///etc/ca.pem",
		"sslrootcert=file:///etc/ca.pem password='hunter 2'":             "sslrootcert=file:///etc/ca.pem password=***",
		"jdbc:sqlserver://db:1433;user=ada;password=hunter2;x=1":         "jdbc:sqlserver://db:1433;user=ada;password=***;x=1",
		"redis://:hun,ter;2@cache:6379/0":                                "redis://:xxxxx@cache:6379/0",
		"etcd://a:2379, amqp://ada:hunter2@b/ and c://d?token=hunter2&x": "etcd://a:2379, amqp://ada:xxxxx@b/ and c://d?token=xxxxx&x=",
		"http://proxy:8080,ada:hunter2@tcp(db)":                          "http://proxy:xxxxx@tcp(db)",
		`redis://:hun"ter@cache:6379/0`:                                  "***",
		`redis://:hun'ter@cache:6379/0`:                                  "redis://:xxxxx@cache:6379/0",
		`"redis://:hun'ter@cache:6379/0"`:                                `"redis://:xxxxx@cache:6379/0"`,
		"postgres://ada:hun@t,er@db/shop":                                "postgres://ada:xxxxx@db/shop",
		`ada:hun"t'er@tcp(db:3306)/shop`:                                 "ada:xxxxx@tcp(db:3306)/shop",
		"ada:hun@ter@tcp(db:3306)/shop":                                  "ada:xxxxx@tcp(db:3306)/shop",
		"ada:hun/ter@tcp(db:3306)/shop":                                  "ada:xxxxx@tcp(db:3306)/shop",
		":hunter2@tcp(db:3306)/shop":                                     ":xxxxx@tcp(db:3306)/shop",
		"password='hun''ter 2' user=ada":                                 "password=*** user=ada",
		`password='hun\'ter 2' user=ada`:                                 "password=*** user=ada",
		`Password="hun""ter 2";Max=5`:                                    "Password=***;Max=5",
		`password='hun'ter2' user=ada`:                                   "password=*** user=ada",
		"user=ada password='hunter 2":                                    "user=ada password=***",
		`user=ada password='hunter 2\`:                                   "user=ada password=***",
		"user=ada password=hun@ter'2 host=db":                            "user=ada password=*** host=db",
		`see http://h/?password="hun ter"`:                               "see http://h/?password=xxxxx",
		"db:5432":                                                        "db:5432",
		"ada@example.com":                                                "ada@example.com",
	} {
		if got := admin.Masked("Database", value); got != want {
			t.Errorf("%q is shown as %q, want %q", value, got, want)
		}
	}
}

// What is looked for is compiled once, and not for every value.
func TestMaskedCompilesOnce(t *testing.T) {
	const value = "Endpoint=sb://bus.example.org/;SharedAccessKeyName=send;SharedAccessKey=aHVudGVyMg==;Account-Key=hunter2"
	const want = "Endpoint=sb://bus.example.org/;SharedAccessKeyName=***;SharedAccessKey=***;Account-Key=***"
	if got := admin.Masked("bus", value); got != want {
		t.Errorf("%s is shown as %s", value, got)
	}
	if n := testing.AllocsPerRun(100, func() { admin.Masked("bus", value) }); n > 100 {
		t.Errorf("a value costs %v allocations", n)
	}
}
