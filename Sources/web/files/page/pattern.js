// The machine-readable row of the synthetic picture: who drew the frame, its number, and a check of both.

/** Blocks in the row: 8 bits of the source, 16 of the frame's number, 8 of their check. */
export const BITS = 32;

function check(source, number) { return (source * 31 + (number & 0xff) * 7 + (number >> 8) * 13 + 0x5a) & 0xff; }

/** A number from 0 to 255 for a name. */
export function sourceOf(name) {
    let hash = 0;
    for (const letter of name) hash = (hash * 33 + letter.codePointAt(0)) & 0xff;
    return hash;
}

/** The blocks from the left, true for white. */
export function blocks(source, number) {
    const bits = [];
    const push = (value, count) => { for (let bit = count - 1; bit >= 0; bit -= 1) bits.push(((value >> bit) & 1) === 1); };
    push(source, 8);
    push(number & 0xffff, 16);
    push(check(source, number & 0xffff), 8);
    return bits;
}

/**
 * Reads the row out of a decoded picture: { source, number }, or undefined if it is not there, or was changed on its way.
 *
 * picture: a video or canvas, of any size; its row is the lowest twenty-fourth.
 */
export function read(picture, context) {
    const { width, height } = context.canvas;
    context.drawImage(picture, 0, 0, width, height);
    const line = context.getImageData(0, Math.floor(height * 47 / 48), width, 1).data;
    let bits = 0n;
    for (let block = 0; block < BITS; block += 1) {
        const at = Math.floor((block + 0.5) * width / BITS) * 4;
        bits = bits << 1n | (line[at] * 3 + line[at + 1] * 6 + line[at + 2] > 1275 ? 1n : 0n);
    }
    const source = Number(bits >> 24n & 0xffn);
    const number = Number(bits >> 8n & 0xffffn);
    return Number(bits & 0xffn) === check(source, number) ? { source, number } : undefined;
}
