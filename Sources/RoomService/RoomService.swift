// RoomService
