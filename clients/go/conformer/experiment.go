package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"

	"dovetail.example/dovetail"
	"dovetail.example/dovetail/internal/reading"
)

func write(key string, value any) {
	line, err := reading.Line(map[string]any{key: value})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s\n", line)
}

// event is what an event says but for its type, as it travels.
func event(m dovetail.Message) (kind string, body map[string]any) {
	frame, err := dovetail.Encode(m)
	if err != nil {
		panic(err)
	}
	value, err := dovetail.DecodeValue(frame)
	if err != nil {
		panic(err)
	}
	body = value.(map[string]any)
	kind = body["type"].(string)
	delete(body, "type")
	return kind, body
}

func experiment(ctx context.Context) error {
	e, err := dovetail.Connect(ctx, dovetail.FromEnv())
	if err != nil {
		return err
	}
	defer e.Close()
	var events []dovetail.Message
	e.OnEvent(func(m dovetail.Message) { events = append(events, m) })
	write("welcome", e.Name())
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) == 0 && err != nil {
			return nil
		}
		value, err := reading.Parse(line)
		if err != nil {
			return err
		}
		command := value.(map[string]any)
		kind := command["type"].(string)
		delete(command, "type")
		if kind == "wait" {
			err = wait(ctx, e, &events, command["for"].(string))
		} else {
			err = request(ctx, e, kind, command)
		}
		var refused *dovetail.RefusedError
		switch {
		case errors.As(err, &refused):
			write("error", map[string]any{"code": refused.Code, "message": refused.Text})
		case err != nil:
			write("lost", err.Error())
			return err
		}
	}
}

func wait(ctx context.Context, e *dovetail.Experiment, events *[]dovetail.Message, until string) error {
	for {
		for len(*events) == 0 {
			if err := e.Wait(ctx); err != nil && len(*events) == 0 {
				return err
			}
		}
		kind, body := event((*events)[0])
		*events = (*events)[1:]
		write(kind, body)
		if kind == until {
			return nil
		}
	}
}

func request(ctx context.Context, e *dovetail.Experiment, kind string, values map[string]any) error {
	answer, err := e.Request(ctx, kind, values)
	if err != nil {
		return err
	}
	switch m := answer.(type) {
	case *dovetail.Saved:
		write("saved", m.State)
	case *dovetail.Reply:
		write("reply", m.Body)
	}
	return nil
}
