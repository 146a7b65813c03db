postMessage(0)
