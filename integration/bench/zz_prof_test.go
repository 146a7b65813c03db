package main
import ("testing";"fmt";"os";"runtime";"runtime/pprof";"github.com/reactivegraph/mgmt")
func TestMem(t *testing.T){
 runtime.MemProfileRate=1
 dir:="/dev/shm/prof"; os.RemoveAll(dir); os.MkdirAll(dir,0o755); defer os.RemoveAll(dir)
 r := start(graphOf(files(dir, 10000, 10000)), mgmt.Options{})
 r.rest()
 runtime.GC(); runtime.GC()
 var ms runtime.MemStats; runtime.ReadMemStats(&ms)
 fmt.Println("heap", ms.HeapAlloc/10000, "stack", ms.StackInuse/10000, "sys other", ms.OtherSys/10000, ms.GCSys/10000, ms.MSpanInuse/10000)
 f,_:=os.Create("/tmp/mem.prof"); pprof.WriteHeapProfile(f); f.Close()
 r.close()
}
