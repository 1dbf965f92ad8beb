/**
 * How many columns give the largest tiles: { columns, rows, width, height }.
 *
 * shapes: the widest and the squarest that a tile may have, as width over height.
 */
export function arrange(count, width, height, gap, [widest, squarest]) {
    let best = { columns: 1, rows: count, width: 0, height: 0 };
    for (let columns = 1; columns <= Math.max(count, 1); columns += 1) {
        const rows = Math.ceil(count / columns);
        const room = { width: (width - gap * (columns - 1)) / columns, height: (height - gap * (rows - 1)) / rows };
        const shape = Math.min(Math.max(room.width / room.height, squarest), widest);
        const tile = Math.floor(Math.min(room.width, room.height * shape));
        const size = { columns, rows, width: tile, height: Math.floor(tile / shape) };
        if (size.width * size.height > best.width * best.height) best = size;
    }
    return best;
}

/** The layer that fits a tile of that width, in pixels of the screen: with a step back only when it is much too large. */
export function fittingProfile(pixels, present) {
    const need = pixels > 640 ? 'high' : pixels > 300 ? 'medium' : 'low';
    const order = ['low', 'medium', 'high'];
    if (order.indexOf(need) >= order.indexOf(present)) return need;
    const limits = { high: 560, medium: 260 };
    return pixels < (limits[present] ?? 0) ? need : present;
}
