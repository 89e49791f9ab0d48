// What the browser itself can tell of a picture: its histogram, what is clipped, what is in focus, where two differ.

const MOST_PIXELS = 2_000_000;
const CLIPPED_LOW = 2;
const CLIPPED_HIGH = 253;
const LEAST_SHARP = 14;
const TIMES_NOISE = 4;
const DIFFERENCE_GAIN = 4;

const LUMINANCE = (red, green, blue) => 0.2126 * red + 0.7152 * green + 0.0722 * blue;

/** The picture's pixels, scaled down if there are too many to look at without a pause. */
async function pixelsOf({ url, width, height }, size = null) {
  const scale = Math.min(1, Math.sqrt(MOST_PIXELS / (width * height)));
  const [wide, high] = size ?? [Math.max(1, Math.round(width * scale)), Math.max(1, Math.round(height * scale))];
  const image = new Image();
  image.src = url;
  await image.decode();
  const canvas = new OffscreenCanvas(wide, high);
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context.fillStyle = "#fff";
  context.fillRect(0, 0, wide, high);
  context.drawImage(image, 0, 0, wide, high);
  return context.getImageData(0, 0, wide, high);
}

/** {light, red, green, blue} with 64 shares each, and the shares of clipped shadows and lights. */
export async function histogramOf(picture) {
  const { data } = await pixelsOf(picture);
  const bins = { light: new Float64Array(64), red: new Float64Array(64), green: new Float64Array(64), blue: new Float64Array(64) };
  let [low, high] = [0, 0];
  for (let at = 0; at < data.length; at += 4) {
    const [red, green, blue] = [data[at], data[at + 1], data[at + 2]];
    bins.light[Math.min(63, LUMINANCE(red, green, blue) >> 2)] += 1;
    bins.red[red >> 2] += 1;
    bins.green[green >> 2] += 1;
    bins.blue[blue >> 2] += 1;
    if (red <= CLIPPED_LOW && green <= CLIPPED_LOW && blue <= CLIPPED_LOW) low += 1;
    if (red >= CLIPPED_HIGH && green >= CLIPPED_HIGH && blue >= CLIPPED_HIGH) high += 1;
  }
  const count = data.length / 4;
  for (const values of Object.values(bins)) for (let at = 0; at < values.length; at += 1) values[at] /= count;
  return { ...bins, low: low / count, high: high / count };
}

/** Marks over a picture, as the address of a PNG with nothing where there is nothing to mark. */
export async function clippingMarks(picture) {
  const shown = await pixelsOf(picture);
  return marked(shown, (data, at) => {
    const [least, most] = [Math.min(data[at], data[at + 1], data[at + 2]), Math.max(data[at], data[at + 1], data[at + 2])];
    if (least >= CLIPPED_HIGH) return [235, 40, 40, 235];
    return most <= CLIPPED_LOW ? [40, 90, 235, 235] : null;
  });
}

/**
 * Green where edges are sharp: where the second difference of the smoothed picture is large, beside what its noise makes
 * everywhere.
 */
export async function focusMarks(picture) {
  const shown = await pixelsOf(picture);
  const edges = secondDifferences(smoothed(shown), shown.width);
  const least = Math.max(LEAST_SHARP, TIMES_NOISE * middleOf(edges));
  return marked(shown, (_, place) => {
    const edge = edges[place / 4];
    return edge > least ? [20, 220, 90, Math.min(255, 130 + 2 * edge)] : null;
  });
}

/** Brightness, each pixel the mean of the three by three around it. */
function smoothed({ data, width, height }) {
  const light = new Float32Array(width * height);
  for (let at = 0; at < light.length; at += 1) light[at] = LUMINANCE(data[4 * at], data[4 * at + 1], data[4 * at + 2]);
  const across = meansOfThree(light, 1);
  return meansOfThree(across, width);
}

function meansOfThree(values, step) {
  const means = new Float32Array(values.length);
  for (let at = step; at < values.length - step; at += 1) means[at] = (values[at - step] + values[at] + values[at + step]) / 3;
  return means;
}

function secondDifferences(light, width) {
  const edges = new Float32Array(light.length);
  for (let at = 2 * width; at < light.length - 2 * width; at += 1) {
    const column = at % width;
    if (column > 1 && column < width - 2) edges[at] = Math.abs(4 * light[at] - light[at - 1] - light[at + 1] - light[at - width] - light[at + width]);
  }
  return edges;
}

function middleOf(values) {
  const some = [];
  for (let at = 0; at < values.length; at += 37) some.push(values[at]);
  some.sort((a, b) => a - b);
  return some[some.length >> 1] ?? 0;
}

/** The difference of two pictures, made stronger; the second is scaled to the first. */
export async function differenceMarks(first, second) {
  const a = await pixelsOf(first);
  const b = (await pixelsOf(second, [a.width, a.height])).data;
  const light = (value) => Math.min(255, DIFFERENCE_GAIN * value);
  return marked(a, (data, at) => [light(Math.abs(data[at] - b[at])), light(Math.abs(data[at + 1] - b[at + 1])), light(Math.abs(data[at + 2] - b[at + 2])), 255]);
}

async function marked({ data, width, height }, colourAt) {
  const out = new ImageData(width, height);
  for (let at = 0; at < data.length; at += 4) {
    const colour = colourAt(data, at);
    if (colour) out.data.set(colour, at);
  }
  const canvas = new OffscreenCanvas(width, height);
  canvas.getContext("2d").putImageData(out, 0, 0);
  return URL.createObjectURL(await canvas.convertToBlob({ type: "image/png" }));
}
