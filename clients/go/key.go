package dovetail

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	zmq "github.com/pebbe/zmq4"
)

// key is a program's pair of keys and its broker's public key, as text (docs/keys.md).
type key struct{ public, secret, server string }

const (
	attempts = 3          // handshakes that a broker may break off in a row, before its key is taken for another
	denied   = 400        // what a broker says of a key that it does not know
	mismatch = 0x11000002 // ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH, which the binding does not name
)

// isKey matches the 32 bytes of a key in Z85.
var isKey = regexp.MustCompile(`^[0-9a-zA-Z.\-:+=^!/*?&<>()\[\]{}@%$#]{40}$`)

// keyLine matches a line of a key file.
var keyLine = regexp.MustCompile(`^\s*(\w+)\s*=\s*(?:"([^"]*)"|'([^']*)')\s*(?:#.*)?$`)

// readKey returns the key in a file; DOVETAIL_SERVER_KEY replaces the broker's public key in it.
func readKey(path string) (*key, error) {
	if rest, home := strings.CutPrefix(path, "~/"); home {
		path = filepath.Join(os.Getenv("HOME"), rest)
	}
	file, err := os.Open(path)
	if err != nil {
		var why *os.PathError
		errors.As(err, &why)
		return nil, fmt.Errorf("cannot read the key %s: %w", path, why.Err)
	}
	defer file.Close()
	about, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if runtime.GOOS != "windows" && about.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("other users can read the key %s; run `chmod 600 %s`", path, path)
	}
	found := map[string]string{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if parts := keyLine.FindStringSubmatch(lines.Text()); parts != nil {
			found[parts[1]] = parts[2] + parts[3]
		}
	}
	for _, name := range []string{"public", "secret"} {
		if !isKey.MatchString(found[name]) {
			return nil, fmt.Errorf("%s has no %s key; make one with `dovetail keys make`", path, name)
		}
	}
	server := cmp.Or(os.Getenv("DOVETAIL_SERVER_KEY"), found["server"])
	if server == "" {
		return nil, fmt.Errorf("%s does not name the broker's public key; add `server = ...` to it, or set DOVETAIL_SERVER_KEY", path)
	}
	if !isKey.MatchString(server) {
		return nil, fmt.Errorf("the broker's public key for %s: '%s' is not a key; expected 40 characters such as `dovetail keys make` prints", path, server)
	}
	return &key{found["public"], found["secret"], server}, nil
}

// set has a socket connect with the key; nil connects without one.
func (k *key) set(s *zmq.Socket) error {
	if k == nil {
		return nil
	}
	return s.ClientAuthCurve(k.server, k.public, k.secret)
}

// handshakes is how those of a link's sockets end. libzmq itself tries again for ever, and says nothing.
type handshakes struct {
	key    *key // nil for none
	failed int  // those that the broker broke off, until one succeeds
	met    bool // whether one has succeeded
}

// judge returns why the broker will never let this program in, as an error says it after the broker's address, or
// nothing.
func (h *handshakes) judge(event zmq.Event, value int) string {
	switch {
	case event == zmq.EVENT_HANDSHAKE_SUCCEEDED:
		h.met, h.failed = true, 0
		return ""
	case event == zmq.EVENT_HANDSHAKE_FAILED_AUTH && value == denied:
		return "does not accept this program's key; ask the person who runs it"
	case event == zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL && value == mismatch && h.key != nil:
		return "uses no keys; connect without the option key and DOVETAIL_KEY"
	case event == zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL && value == mismatch:
		return "lets in only programs with a key; give the option key, or set DOVETAIL_KEY"
	}
	h.failed++
	if h.key == nil || h.met || h.failed < attempts {
		return ""
	}
	return "breaks off each handshake; check the broker's public key: `server` in the key file, or DOVETAIL_SERVER_KEY"
}
