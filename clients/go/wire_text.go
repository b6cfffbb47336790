package dovetail

import (
	"unicode/utf8"

	"github.com/tinylib/msgp/msgp"
)

func readText(w *wire, key string, b []byte) string {
	if b == nil {
		return ""
	}
	text, _, err := msgp.ReadStringZC(b)
	if err != nil {
		w.invalid(key, "a text")
		return ""
	}
	if !utf8.Valid(text) {
		w.fail(CodeMalformed, "the text of field %s is no UTF-8", key)
		return ""
	}
	return string(text)
}

func (w *wire) appendText(text string) {
	if !utf8.ValidString(text) {
		w.fail(CodeInvalid, "a text that is no UTF-8 cannot travel")
	}
	w.out = msgp.AppendString(w.out, text)
}

func (w *wire) needText(key string, p *string) {
	if w.decoding {
		*p = readText(w, key, w.need(key))
		return
	}
	w.key(key)
	w.appendText(*p)
}

func (w *wire) text(key string, p *string, def string) {
	if w.decoding {
		*p = def
		if b := w.find(key); b != nil {
			*p = readText(w, key, b)
		}
		return
	}
	if *p != def {
		w.key(key)
		w.appendText(*p)
	}
}

func (w *wire) nilText(key string, p **string) {
	if w.decoding {
		*p = nil
		if b := w.find(key); b != nil && b[0] != 0xc0 {
			text := readText(w, key, b)
			*p = &text
		}
		return
	}
	if *p != nil {
		w.key(key)
		w.appendText(**p)
	}
}

// choice is a text out of a few; on the way in others are refused.
func choice[T ~string](w *wire, key string, p *T, def T, required bool, known []T) {
	if w.decoding {
		*p = def
		b := w.find(key)
		if b == nil {
			if required {
				w.need(key)
			}
			return
		}
		text, _, err := msgp.ReadStringZC(b)
		if err == nil {
			for _, each := range known {
				if string(text) == string(each) {
					*p = each
					return
				}
			}
		}
		w.invalid(key, "one of its values")
		return
	}
	if required || *p != def && *p != "" {
		w.key(key)
		w.appendText(string(*p))
	}
}

func readTexts(w *wire, key string, b []byte) []string {
	n, rest, err := msgp.ReadArrayHeaderBytes(b)
	if err != nil {
		w.invalid(key, "an array of text")
		return nil
	}
	list := make([]string, n)
	for i := range list {
		list[i] = readText(w, key, rest)
		rest = rest[skip(rest):]
	}
	return list
}

func (w *wire) appendTexts(list []string) {
	w.out = msgp.AppendArrayHeader(w.out, uint32(len(list)))
	for _, each := range list {
		w.appendText(each)
	}
}

func (w *wire) texts(key string, p *[]string) {
	if w.decoding {
		*p = nil
		if b := w.find(key); b != nil {
			*p = readTexts(w, key, b)
		}
		return
	}
	if len(*p) > 0 {
		w.key(key)
		w.appendTexts(*p)
	}
}

func readBinary(w *wire, key string, b []byte) []byte {
	if b == nil {
		return nil
	}
	data, _, err := msgp.ReadBytesZC(b)
	if err != nil {
		w.invalid(key, "binary")
	}
	return data
}

func (w *wire) binary(key string, p *[]byte, required bool) {
	if w.decoding {
		*p = nil
		b := w.find(key)
		if b == nil && required {
			b = w.need(key)
		}
		*p = readBinary(w, key, b)
		return
	}
	if required || len(*p) > 0 {
		w.key(key)
		w.out = msgp.AppendBytes(w.out, *p)
	}
}

// nilBinary is binary or nil; empty bytes are not nil.
func (w *wire) nilBinary(key string, p *[]byte) {
	if w.decoding {
		*p = nil
		if b := w.find(key); b != nil && b[0] != 0xc0 {
			*p = readBinary(w, key, b)
		}
		return
	}
	if *p != nil {
		w.key(key)
		w.out = msgp.AppendBytes(w.out, *p)
	}
}

// legal is an array of action numbers, a mask or nil.
func (w *wire) legal(key string, actions *[]int64, mask *[]byte) {
	if w.decoding {
		*actions, *mask = nil, nil
		b := w.find(key)
		switch {
		case b == nil || b[0] == 0xc0:
		case b[0] >= 0xc4 && b[0] <= 0xc6:
			*mask = readBinary(w, key, b)
		default:
			*actions = readInts[int64](w, key, b)
		}
		return
	}
	switch {
	case *actions != nil:
		w.key(key)
		w.appendInts(*actions)
	case *mask != nil:
		w.key(key)
		w.out = msgp.AppendBytes(w.out, *mask)
	}
}
