package dovetail

// Request is a message of an experiment that is answered; Fields are the message's own fields by the names of
// SPEC.md section 6, without type and id.
type Request struct {
	Type   string
	ID     int64
	Fields map[string]any
}

func (m *Request) kind() string { return m.Type }
func (m *Request) wire(w *wire) {
	needInt(w, "id", &m.ID)
	for key, value := range m.Fields {
		w.key(key)
		w.appendValue(value)
	}
}

// WatchedTurn is a turn as a watcher may see it.
type WatchedTurn struct {
	Run          int64
	Match        int64
	Index        int64
	Episode      int64
	Turn         int
	ToAct        []int
	Actions      []SeatValue // the actions that led here
	Rewards      []float64   // per seat, of this transition
	Observations []SeatValue // in games of perfect information
	Agents       []string
	Terminated   bool
	Truncated    bool
	Outcome      []float64
	Reason       Reason // empty while the episode goes on
	Text         *string
}

func (*WatchedTurn) kind() string { return "turn" }
func (m *WatchedTurn) wire(w *wire) {
	needInt(w, "run", &m.Run)
	needInt(w, "match", &m.Match)
	needInt(w, "index", &m.Index)
	needInt(w, "episode", &m.Episode)
	needInt(w, "turn", &m.Turn)
	ints(w, "to_act", &m.ToAct, false)
	w.pairs("actions", &m.Actions, false)
	w.floats("rewards", &m.Rewards)
	w.pairs("observations", &m.Observations, false)
	w.texts("agents", &m.Agents)
	w.bool("terminated", &m.Terminated, false)
	w.bool("truncated", &m.Truncated, false)
	w.nilFloats("outcome", &m.Outcome)
	if b := w.find("reason"); !w.decoding || b != nil && b[0] != 0xc0 {
		choice(w, "reason", &m.Reason, "", false, reasons)
	}
	w.nilText("text", &m.Text)
}

// Episode is the result of one episode.
type Episode struct {
	Run     int64
	Index   int64 // the number of the episode in its run
	Episode int64
	Seed    int64
	Reason  Reason
	Seats   []SeatResult
	Outcome []float64 // nil if nobody is scored
	Blame   *int
	Turns   int64
	Scored  bool // false if the episode was interrupted
	Again   bool // whether it is played again under the same index
	Message string
}

func (*Episode) kind() string { return "episode" }
func (m *Episode) wire(w *wire) {
	needInt(w, "run", &m.Run)
	needInt(w, "index", &m.Index)
	needInt(w, "episode", &m.Episode)
	needInt(w, "seed", &m.Seed)
	choice(w, "reason", &m.Reason, "", true, reasons)
	list(w, "seats", &m.Seats, true)
	w.nilFloats("outcome", &m.Outcome)
	nilInt(w, "blame", &m.Blame)
	optInt(w, "turns", &m.Turns, 0)
	w.bool("scored", &m.Scored, true)
	w.bool("again", &m.Again, false)
	w.text("message", &m.Message, "")
}

// SeatResult is what one seat got out of an episode.
type SeatResult struct {
	Agent     string
	Instance  int64
	Total     float64 // its return
	Decisions int64
	Seconds   float64
	Breaches  int64
	Ignored   int64
}

func (m *SeatResult) wire(w *wire) {
	w.needText("agent", &m.Agent)
	needInt(w, "instance", &m.Instance)
	w.float("total", &m.Total, 0)
	optInt(w, "decisions", &m.Decisions, 0)
	w.float("seconds", &m.Seconds, 0)
	optInt(w, "breaches", &m.Breaches, 0)
	optInt(w, "ignored", &m.Ignored, 0)
}

// Progress says how far a run is.
type Progress struct{ Run, Finished, Running, Total int64 }

func (*Progress) kind() string { return "progress" }
func (m *Progress) wire(w *wire) {
	needInt(w, "run", &m.Run)
	needInt(w, "finished", &m.Finished)
	needInt(w, "running", &m.Running)
	needInt(w, "total", &m.Total)
}

// Done says that a run is over, and why: finished, drained, cancelled or failed.
type Done struct {
	Run      int64
	Finished int64
	Reason   string
	Message  string
}

func (*Done) kind() string { return "done" }
func (m *Done) wire(w *wire) {
	needInt(w, "run", &m.Run)
	needInt(w, "finished", &m.Finished)
	choice(w, "reason", &m.Reason, "finished", false, []string{"finished", "drained", "cancelled", "failed"})
	w.text("message", &m.Message, "")
}
