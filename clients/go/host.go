package dovetail

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"unicode"
)

// Host takes the messages of the broker and returns frames to answer with; it knows no socket.
type Host interface {
	Role() Role
	Offers() []Offer
	// Handle takes messages in order. The frames that it returns belong together.
	Handle(ctx context.Context, messages []Message) [][]byte
}

// offered is what a program offers: an AgentType or an EnvironmentType.
type offered[T any] interface {
	*T
	offer() Offer
	options() []Option
}

func offers[T any, P offered[T]](types []T) []Offer {
	out := make([]Offer, len(types))
	for i := range types {
		out[i] = P(&types[i]).offer()
	}
	return out
}

// find returns the type of a name, and its options with the values that came; what is "agent" or "environment".
func find[T any, P offered[T]](types []T, what, name string, values map[string]any) (P, Options, error) {
	for i := range types {
		t := P(&types[i])
		if offer := t.offer(); offer.Name == name && !offer.Instance {
			options, err := readOptions(t.options(), values, what+" "+name)
			return t, options, err
		}
	}
	return nil, nil, fmt.Errorf("this program makes no %s %.40q", what, name)
}

// panicked is a panic in code of the user, as an error.
type panicked struct {
	value any
	stack []byte
}

func (p *panicked) Error() string { return fmt.Sprint(p.value) }

// protect calls code of the user; a panic becomes an error.
func protect[T any](do func() (T, error)) (result T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &panicked{p, debug.Stack()}
		}
	}()
	return do()
}

// failure returns one line about what code of the user did, and tells it on standard error, too; where is whose code
// it is, and when it failed.
func failure(where string, err error) string {
	verb := "failed"
	var p *panicked
	if errors.As(err, &p) {
		verb = "panicked"
	}
	text := oneLine(fmt.Errorf("%s %s: %w", where, verb, err))
	fmt.Fprintln(os.Stderr, text)
	if debug := os.Getenv("DOVETAIL_DEBUG"); p != nil && debug != "" && debug != "0" {
		_, _ = os.Stderr.Write(p.stack)
	}
	return text
}

// unavailable marks an error by which code of the user says that it cannot do this; a panic says no such thing.
func unavailable(err error) error {
	var p *panicked
	var said *RefusedError
	if errors.As(err, &p) || errors.As(err, &said) {
		return err
	}
	return &RefusedError{CodeUnavailable, err.Error()}
}

// converse lets code of the user answer a message; what does not talk answers nil.
func converse(user any, id int64, body any) (Message, error) {
	reply := &Reply{ID: id}
	var err error
	if messenger, ok := user.(Messenger); ok {
		reply.Body, err = messenger.Message(body)
	}
	return reply, err
}

// clean lets code of the user release what it holds; a failure there changes nothing.
func clean(name string, user any) {
	if cleaner, ok := user.(Cleaner); ok {
		if _, err := protect(func() (any, error) { cleaner.Cleanup(); return nil, nil }); err != nil {
			failure(name+" in cleanup", err)
		}
	}
}

// oneLine returns the text of an error for a person.
func oneLine(err error) string { return line(err.Error()) }

// obeyed says whether a terminal would act upon a character, or turn the reading order at it (S13.5).
func obeyed(r rune) bool {
	return unicode.IsSpace(r) || unicode.IsControl(r) || r >= 0x2028 && r <= 0x202e || r >= 0x2066 && r <= 0x206f
}

// line returns a text, which another program may have made, as one line.
func line(text string) string {
	text = strings.ToValidUTF8(strings.Join(strings.FieldsFunc(text, obeyed), " "), "?")
	if len(text) > 300 {
		text = strings.ToValidUTF8(text[:300], "")
	}
	return text
}
