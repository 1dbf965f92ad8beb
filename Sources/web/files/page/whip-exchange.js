/** Posts an offer; gives the answer, and the address of what it made. */
export async function exchange(path, token, offer) {
    const response = await fetch(path, {
        method: 'POST', body: offer, headers: { 'Content-Type': 'application/sdp', Authorization: `Bearer ${token}` },
    });
    const body = await response.text();
    if (response.status !== 201) {
        let reason = body;
        try { const told = JSON.parse(body); reason = told.detail ?? told.error ?? body; } catch { /* Plain text. */ }
        throw new Error(`HTTP ${response.status}: ${reason}`);
    }
    return { sdp: body, resource: new URL(response.headers.get('Location'), new URL(path, location.href)).href };
}

/** Waits until the offer has its candidates, but not for ever: the node does not need them. */
export function gathered(connection) {
    return new Promise((resolve) => {
        const done = () => { if (connection.iceGatheringState === 'complete') resolve(); };
        connection.addEventListener('icegatheringstatechange', done);
        setTimeout(resolve, 1000);
        done();
    });
}

/** A token from a node that makes some (parlor serve --dev); else empty. */
export async function openToken(user) {
    const { openApp } = await (await fetch('/page.json')).json();
    if (!openApp) return '';
    const room = new URLSearchParams(location.search).get('room') ?? 'demo-1';
    const name = `${user}-${Math.floor(Math.random() * 1e6)}`;
    return (await (await fetch(`/dev/token?room=${encodeURIComponent(room)}&user=${name}`)).json()).token ?? '';
}
