package dovetail

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

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

// handshakes is how those of a link's sockets end. libzmq itself tries again forever, and says nothing.
type handshakes struct {
	address string
	key     *key // nil for none
	failed  int  // those that the broker broke off, until one succeeds
	met     bool // whether one has succeeded
}

const needsKey = "lets in only programs with a key; give the option key, or set DOVETAIL_KEY"

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
		return needsKey
	}
	h.failed++
	switch {
	case h.met || h.failed < attempts:
		return ""
	case h.key == nil && asksForKey(h.address):
		return needsKey
	case h.key == nil:
		return ""
	}
	return "breaks off each handshake; check the broker's public key: `server` in the key file, or DOVETAIL_SERVER_KEY"
}

// asksForKey greets a broker as slowly as libzmq's brokers need to name their mechanism. They break off before if the
// rest of a greeting comes in one piece, as it does if this program or its network is slow.
func asksForKey(address string) bool {
	network, place, _ := strings.Cut(address, "://")
	if network == "ipc" {
		network = "unix"
	}
	connection, err := net.DialTimeout(network, place, time.Second)
	if err != nil {
		return false
	}
	defer connection.Close()
	_ = connection.SetDeadline(time.Now().Add(time.Second))
	greeting := make([]byte, 32) // signature, version and mechanism
	if _, err = connection.Write([]byte{0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3}); err == nil {
		_, err = io.ReadFull(connection, greeting)
	}
	return err == nil && strings.TrimRight(string(greeting[12:]), "\x00") == "CURVE"
}
