module dovetail.example/dovetail

go 1.24

require (
	github.com/pebbe/zmq4 v1.4.0
	github.com/tinylib/msgp v1.6.5
)

require github.com/philhofer/fwd v1.2.0 // indirect
