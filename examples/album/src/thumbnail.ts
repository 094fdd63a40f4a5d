/** Thumbnails, made on the device. */

const SIDE = 240;

/**
 * A small JPEG of a picture.
 *
 * @throws when the browser cannot show the file.
 */
export async function thumbnailOf(file: Blob): Promise<Blob> {
  const picture = await createImageBitmap(file);
  const scale = Math.min(1, SIDE / Math.max(picture.width, picture.height));
  const canvas = new OffscreenCanvas(Math.max(1, picture.width * scale), Math.max(1, picture.height * scale));
  canvas.getContext("2d")?.drawImage(picture, 0, 0, canvas.width, canvas.height);
  picture.close();
  return canvas.convertToBlob({ type: "image/jpeg", quality: 0.7 });
}
