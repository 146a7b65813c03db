package main
import ("testing";"fmt";"os";"time";"runtime/pprof";"github.com/reactivegraph/mgmt")
func TestSpin(t *testing.T){
 dir:="/dev/shm/prof2"; os.RemoveAll(dir); os.MkdirAll(dir,0o755); defer os.RemoveAll(dir)
 n := 0
 r := start(graphOf(files(dir, 10000, 10000)), mgmt.Options{Observer: mgmt.Observer{Ran: func(mgmt.Run){n++}}})
 r.rest()
 f,_:=os.Create("/tmp/spin.prof"); pprof.StartCPUProfile(f)
 for range 6 { c:=cpu(); m:=n; time.Sleep(500*time.Millisecond); fmt.Println("cpu", cpu()-c, "runs", n-m) }
 pprof.StopCPUProfile()
 r.close()
}
