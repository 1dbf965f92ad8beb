/** Names and listeners. A listener that throws stops nobody else: its error goes to the console. */
export class Emitter {
    #listeners = new Map();

    /** Calls the listener at each event of that name, until the returned function is called. */
    on(name, listener) {
        const list = this.#listeners.get(name) ?? new Set();
        list.add(listener);
        this.#listeners.set(name, list);
        return () => this.off(name, listener);
    }

    /** Calls the listener at the next event of that name. */
    once(name, listener) {
        const end = this.on(name, (...values) => { end(); listener(...values); });
        return end;
    }

    off(name, listener) { this.#listeners.get(name)?.delete(listener); }

    /** @internal */
    emit(name, ...values) {
        for (const listener of [...(this.#listeners.get(name) ?? [])]) {
            try { listener(...values); } catch (thrown) { console.error(thrown); }
        }
    }
}
