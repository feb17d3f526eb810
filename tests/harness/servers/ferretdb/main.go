// FerretDB with SQLite as a program: ferretdb FOLDER keeps its data in FOLDER, serves on a free port of 127.0.0.1, prints
// the connection string once it does, and ends with a signal.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/FerretDB/FerretDB/ferretdb"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("ferretdb FOLDER")
	}
	server, err := ferretdb.New(&ferretdb.Config{
		Listener:  ferretdb.ListenerConfig{TCP: "127.0.0.1:0"},
		Handler:   "sqlite",
		SQLiteURL: "file:" + filepath.Clean(os.Args[1]) + "/",
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	fmt.Println(server.MongoDBURI())
	if err := <-ended; err != nil {
		log.Fatal(err)
	}
}
