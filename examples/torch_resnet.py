"""ResNet50 in TorchScript with torch: sut-node --engine python --model examples/torch_resnet.py --instances GPUS"""

import os

import torch

from netdiv_engine import Tensor


class ResNet50:
    inputs = [Tensor("image", "uint8", (224, 224, 3))]
    outputs = [Tensor("label", "int64", ())]
    max_batch = 64
    weights = [os.path.abspath(os.environ.get("RESNET50", "resnet50.pt"))]
    framework = f"torch {torch.__version__}"

    def load(self, context):
        gpus = torch.cuda.device_count()
        self.device = torch.device(f"cuda:{context.instance % gpus}" if gpus else "cpu")
        torch.set_num_threads(context.threads)
        self.model = torch.jit.load(self.weights[0], map_location=self.device).eval()

    @torch.inference_mode()
    def infer(self, batch):
        images = torch.from_numpy(batch["image"]).to(self.device)
        return self.model(images).argmax(dim=1).cpu().numpy()
