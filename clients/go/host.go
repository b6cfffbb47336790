package dovetail

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
)

// Host takes the messages of the broker and returns frames to answer with; it knows no socket.
type Host interface {
	Role() Role
	Offers() []Offer
	// Handle takes messages in order. What it returns belongs together.
	Handle(ctx context.Context, messages []Message) [][]byte
}

// recent remembers the latest n keys.
type recent[K comparable, V any] struct {
	values map[K]V
	order  []K
	next   int
}

func newRecent[K comparable, V any](n int) *recent[K, V] {
	return &recent[K, V]{values: map[K]V{}, order: make([]K, 0, n)}
}

func (r *recent[K, V]) has(key K) bool {
	_, ok := r.values[key]
	return ok
}

func (r *recent[K, V]) put(key K, value V) {
	if !r.has(key) {
		if len(r.order) < cap(r.order) {
			r.order = append(r.order, key)
		} else {
			delete(r.values, r.order[r.next])
			r.order[r.next] = key
			r.next = (r.next + 1) % len(r.order)
		}
	}
	r.values[key] = value
}

// remembered answers a request once; a repeat gets the same frame.
func remembered(answers *recent[int64, []byte], id int64, what string, out [][]byte, do func() (Message, error)) [][]byte {
	if frame, ok := answers.values[id]; ok {
		return append(out, frame)
	}
	var frame []byte
	answer, err := protect(func() (any, error) {
		m, err := do()
		return m, err
	})
	if err == nil {
		if frame, err = Encode(answer.(Message)); err != nil {
			err = fmt.Errorf("the answer to %s cannot travel: %w", what, err)
		}
	}
	if err != nil {
		code := CodeCrashed
		var refused *RefusedError
		if errors.As(err, &refused) {
			code = refused.Code
		}
		frame = mustEncode(&Error{Code: code, Message: oneLine(err), ID: &id})
	}
	answers.put(id, frame)
	return append(out, frame)
}

// protect calls code of the user; a panic becomes an error, and is logged with its stack.
func protect(do func() (any, error)) (result any, err error) {
	defer func() {
		if p := recover(); p != nil {
			slog.Error("dovetail: panic", "value", p, "stack", string(debug.Stack()))
			result, err = nil, fmt.Errorf("panic: %v", p)
		}
	}()
	return do()
}

func clean(user any) {
	if cleaner, ok := user.(Cleaner); ok {
		cleaner.Cleanup()
	}
}

func protectCleanup(user any) {
	_, _ = protect(func() (any, error) { clean(user); return nil, nil })
}

// oneLine returns the text of an error for a person.
func oneLine(err error) string {
	text := strings.ToValidUTF8(strings.Join(strings.Fields(err.Error()), " "), "?")
	if len(text) > 300 {
		text = strings.ToValidUTF8(text[:300], "")
	}
	return text
}
