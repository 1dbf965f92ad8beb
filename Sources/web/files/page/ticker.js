// A worker that says when the next picture is due: timers of a page in the background are held back, a worker's are not.
let timer;
onmessage = ({ data }) => {
    clearInterval(timer);
    if (data > 0) timer = setInterval(() => postMessage(0), 1000 / data);
};
